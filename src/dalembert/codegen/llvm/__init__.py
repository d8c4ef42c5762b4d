"""LLVM machine code from programs and loops."""
