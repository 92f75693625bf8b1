"""Charts as inline SVG, from aggregates."""
