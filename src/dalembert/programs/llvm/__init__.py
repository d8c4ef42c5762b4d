"""The backend that turns a program into machine code with LLVM."""
