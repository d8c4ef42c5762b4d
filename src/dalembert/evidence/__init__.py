"""Evidence: proofs, numerical agreement of formulations, comparisons and reports."""
