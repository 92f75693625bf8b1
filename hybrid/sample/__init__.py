"""Sampling of (anonymized) records: Bernoulli, simple random and stratified."""

from hybrid.sample.draw import Sampled, sample, sample_table
from hybrid.sample.options import SampleOptions
from hybrid.sample.shares import GroupShare

__all__ = ["GroupShare", "SampleOptions", "Sampled", "sample", "sample_table"]
