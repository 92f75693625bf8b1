"""Contrastive encoder: records of mixed columns as points on a sphere."""
