"""Programs: straight-line code as a value, and what runs it."""

from dalembert.programs.function import ENGINES as ENGINES
from dalembert.programs.function import Function as Function
from dalembert.programs.function import choose_engine as choose_engine
from dalembert.programs.function import compile_function as compile_function
from dalembert.programs.function import function_of as function_of
from dalembert.programs.function import nodes as nodes
from dalembert.programs.program import Program as Program
from dalembert.programs.program import nodes_of as nodes_of
from dalembert.programs.program import program_of as program_of
