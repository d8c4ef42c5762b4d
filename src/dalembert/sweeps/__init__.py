"""Many runs of one model: lanes, all cores, or a cluster."""
