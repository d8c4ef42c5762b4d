"""Machine code from programs, by LLVM."""
