"""Parameter sweeps of one model: in SIMD lanes, on all cores, or on a cluster."""
