"""Sampling of records: Bernoulli, simple random and stratified."""

from hybrid.sample.draw import Sampled, SampledTable, SampleOptions, sample, sample_before, sample_table

__all__ = ["SampleOptions", "Sampled", "SampledTable", "sample", "sample_before", "sample_table"]
