"""Mathematics, plots, drawings, scenes and animations."""
