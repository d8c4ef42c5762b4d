"""What formulations share: the linear form, named quantities, the Legendre transform."""
