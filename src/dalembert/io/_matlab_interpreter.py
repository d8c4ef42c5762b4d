"""Interpreter of a subset of MATLAB: assignments of scalars and vectors, loops and conditions.

    statement   function [...] = name(...)   |   name = sum   |   name(sum) = sum   |   end   |   return
                load('file.mat')   |   name = load('file.mat')   |   save ...   |   [name, ...] = name(...)
                for name = first:last ... end   |   if logic ... elseif logic ... else ... end
    logic       sum { (== | ~= | < | <= | > | >=) sum }, joined by && and ||, with ~ in front
    sum         product { (+ | -) product }
    product     signed { (* | / | .* | ./) signed }
    signed      { + | - } power
    power       item { (^ | .^) { + | - } item }
    item        number | name | name.field | name(sum, ...) | (logic) | [sum, sum; sum ...]      each optionally followed by '

`_matlab_values` evaluates everything from `logic` on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from dalembert.errors import ModelFileError, suggest_name
from dalembert.io._mat_file import MatFile, Values
from dalembert.io._matlab_values import CALL, KNOWN, Function, MatlabEvaluator, tokens_of
from dalembert.io.toml_reader import failure
from dalembert.model.keys import quote
from dalembert.model.values import MAX_NAME

_HEAD = re.compile(r"(?:\[? ?([\w ,]*?) ?\]? = )?\w+(?: \( ?([\w ,]*?) ?\))?", re.ASCII)
_QUOTES = re.compile(r"""'([^'\n]*)'|"([^"\n]*)\"""")
_PATH = re.compile(r"(?:\./)?(?:[\w -]+[/\\])*[\w -]+(?:\.mat)?", re.ASCII | re.IGNORECASE)
_FRAME = ("function", "end", "return", "endfunction")
_BLOCKS = ("for", "if", "while", "switch", "try")


def read_assignments(
    code: str,
    source: str = "<text>",
    *,
    load: Callable[[str], MatFile] | None = None,
    functions: Mapping[str, Function] | None = None,
) -> dict[str, Values]:
    """The values of all names that the code assigns, each as a tuple of floats.

    `load` opens a data file by name, for code with load('inputs.mat'); `functions` are those of other files.

    >>> read_assignments("m = [2 3]; al(2) = 0.5; % lengths\\nI = m(1)*al(2)^2/12;")["I"]
    (0.041666666666666664,)
    """
    program = _Program(code, source, load, functions or {})
    program.run(())
    return program.values


def call(
    code: str,
    source: str,
    arguments: Sequence[Values],
    functions: Mapping[str, Function] | None = None,
    load: Callable[[str], MatFile] | None = None,
) -> list[Values]:
    """Call the function defined by the code: its results, up to the first that is not assigned.

    >>> call("function [s, d] = f(x, n)\\nfor i = 1:n\\n s(i) = i*x;\\nend\\nd = sum(s);", "f.m", [(0.5,), (3.0,)])
    [(0.5, 1.0, 1.5), (3.0,)]
    """
    program = _Program(code, source, load, functions or {})
    program.run(arguments)
    if program.results is None:
        raise failure(source, "the file defines no function.", "Expected function [...] = name(...) at the top.")
    out = []
    for name in program.results:
        if name not in program.values:
            break
        out.append(program.values[name])
    return out


class _Program(MatlabEvaluator):
    """Executes the statements of the code in order."""

    def __init__(
        self, code: str, source: str, load: Callable[[str], MatFile] | None, functions: Mapping[str, Function]
    ) -> None:
        super().__init__(tokens_of(code, source), source, functions)
        self._load = load
        self._call_arguments: Sequence[Values] = ()
        self.results: list[str] | None = None  # of the function, after its head was read

    def run(self, arguments: Sequence[Values]) -> None:
        self._call_arguments = arguments
        self._statements(len(self._tokens) - 1)

    def _statements(self, stop: int) -> None:
        while self._at < stop:
            if self._ended(";", ","):
                self._take()
                continue
            word = self._next.string if self._next.kind == "name" else ""
            begun = "the statement continues with"
            if word in _FRAME:
                begun = f"{self._frame()!r} is followed by"
            elif word == "save":  # the values are already known
                self._line()
            elif word == "for":
                self._loop()
            elif word == "if":
                self._branches()
            elif self._next.kind == "load":
                self.values.update(self._loaded().vectors)
            elif self._found("["):
                self._assign_results()
            else:
                self._assignment()
            if self._at < stop and not self._ended(";", ","):
                raise self._error(f"{begun} {self._next_token()}.")

    def _frame(self) -> str:
        """The head of the function, or its end."""
        word = self._take().string
        if word == "return":
            self._at = len(self._tokens) - 1
        if word != "function":
            return word
        found = _HEAD.fullmatch(self._line().rstrip(" ;"))
        if found is None or self.results is not None:
            fact = "the function header is invalid." if found is None else "a second function begins here."
            raise self._error(fact, "Expected one function [...] = name(...).")
        self.results, parameters = ((group or "").replace(",", " ").split() for group in found.groups())
        self.values.update(zip(parameters, self._call_arguments, strict=False))
        return word

    def _line(self) -> str:
        """The rest of this line."""
        words = []
        while self._next.kind not in ("line", "end"):
            words.append(self._take().string)
        return " ".join(words)

    # blocks

    def _end_of_block(self) -> int:
        """The index of the end of the current block: its `end`, `else` or `elseif`."""
        depth = brackets = 0
        start = self._at
        for index in range(self._at, len(self._tokens)):
            kind, word = self._tokens[index].kind, self._tokens[index].string
            if kind == "sign":
                brackets += (word in "([") - (word in ")]")
            elif kind == "name" and not brackets:
                if depth == 0 and word in ("end", "else", "elseif"):
                    self._count((index - start) // 10)
                    return index
                depth += (word in _BLOCKS) - (word == "end")
        raise self._error("a block has no 'end'.", "Add it.")

    def _loop(self) -> None:
        self._take()
        name = self._take().string
        self._expect("=")
        steps = self._range()
        body, stop = self._at, self._end_of_block()
        if self._tokens[stop].string != "end":
            raise self._error(f"{self._tokens[stop].string!r} in a loop without 'if'.")
        self._depth += 1
        for step in steps:
            self._count((stop - body) // 10)
            self.values[name], self._at = (step,), body
            self._statements(stop)
            if self._at > stop:  # by return
                return
        self._depth -= 1
        self._at = stop + 1

    def _branches(self) -> None:
        """if, elseif and else: execute the first whose condition holds."""
        word, done = self._take().string, False
        self._depth += 1
        while word != "end":
            holds = not done and (word == "else" or all(self._logic()))
            stop = self._end_of_block()
            if holds:
                self._statements(stop)
                if self._at > stop:  # by return
                    return
            self._at, done = stop, done or holds
            word = self._take().string
        self._depth -= 1

    # assignments

    def _assignment(self) -> None:
        if self._next.kind != "name":
            raise self._error(f"a statement begins with {self._next_token()}.")
        name = self._free_name()
        indices = None
        if self._found("("):
            self._take()
            arguments = self._arguments(several=True, within=len(self.values.get(name, ())))
            indices = [self._index((x,), name) for x in self._indices(name, arguments)]
        if not self._found("="):
            raise self._error(f"{quote(name)} is followed by {self._next_token()}, not by '='.")
        self._take()
        if self._next.kind == "load" and indices is None:
            self._files[name] = self._loaded()
            return
        value = self._sum()
        self.values[name] = value if indices is None else self._changed(name, indices, value)

    def _free_name(self) -> str:
        """A name that can be assigned."""
        name = self._take().string
        if name in KNOWN:
            raise self._error(f"{name!r} is a predefined name and cannot be assigned.", "Use another name.")
        if "." in name:
            raise self._error(f"the field {quote(name)} cannot be assigned.", "Assign a name without a dot.")
        return name

    def _assign_results(self) -> None:
        """[a, b] = name(...): the results of a function of another file."""
        self._take()
        names = []
        while self._next.kind == "name" or self._found(","):
            if self._found(","):
                self._take()
            else:
                names.append(self._free_name())
        self._expect("]")
        self._expect("=")
        function = self._take().string
        if function not in self.functions:
            known = (
                suggest_name(function[:MAX_NAME], self.functions)
                if self.functions
                else "No function is available here."
            )
            raise self._error(f"unknown function {quote(function)}.", known)
        arguments = []
        if self._found("("):
            self._take()
            arguments = self._arguments(several=True)
        self._count(CALL)
        results = self.functions[function](arguments)
        if len(results) < len(names):
            fact = f"{quote(function)} returns {len(results)} values for {len(names)} names."
            raise self._error(fact, "Expected at least as many values.")
        self.values.update(zip(names, results, strict=False))

    def _loaded(self) -> MatFile:
        """The data file of a load statement, in the directory of the code or below, or some of its names."""
        rest = self._next.string[len("load") :]
        word, *wanted = [part for group in _QUOTES.findall(rest) for part in group if part] or rest.split() or [""]
        if not _PATH.fullmatch(word):
            fact = f"load has the argument {quote(word)}."
            raise self._error(fact, "Expected the name of a .mat file in the same directory, such as 'inputs.mat'.")
        if self._load is None:
            fact = f"load needs the file {quote(word)}, but a string has no directory."
            raise self._error(fact, "Read the code from a file.")
        names = [name for name in wanted if name != "-mat"]
        if odd := [name for name in names if not name.isidentifier()]:
            raise self._error(f"load has the argument {quote(odd[0])}.", "Expected names of arrays after the file.")
        try:
            stored = self._load(word if word.lower().endswith(".mat") else f"{word}.mat")
        except ModelFileError as error:
            (problem,) = error.problems
            raise self._error(f"load failed. {problem.path}: {problem.fact}", problem.advice) from error
        self._take()
        return stored.only(names) if names else stored

    def _changed(self, name: str, indices: list[int], value: Values) -> Values:
        """The vector with new values at some indices; it is extended with zeros."""
        if len(value) not in (1, len(indices)):
            fact = f"{len(value)} values are assigned to {len(indices)} entries of {quote(name)}."
            raise self._error(fact, "Expected one value, or one for each entry.")
        old, length = self.values.get(name, ()), max(indices, default=0)
        self._count(max(length, len(old)) + len(indices))
        entries = [*old, *[0.0] * (length - len(old))]
        for index, x in zip(indices, value * len(indices) if len(value) == 1 else value, strict=True):
            entries[index - 1] = x
        return tuple(entries)
