"""Evidence: proofs, agreement of formalisms, comparisons."""
