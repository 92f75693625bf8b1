"""Sampling of records: Bernoulli, simple random and stratified."""

from hybrid.sample.draw import GroupShare, Sampled, SampledTable, SampleOptions, sample, sample_before, sample_table

__all__ = ["GroupShare", "SampleOptions", "Sampled", "SampledTable", "sample", "sample_before", "sample_table"]
