"""Machine code from programs and loops, by LLVM."""
