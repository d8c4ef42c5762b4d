"""Many runs of one model: SIMD lanes, all cores, or a cluster."""
