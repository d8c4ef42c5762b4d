"""Measures of the sources, by their syntax trees alone: the package is not imported.

The import graph counts every import, those for the type checker and those inside functions included; import cycles count only
imports that run when a module is imported.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src"
_LISTED = 20  # details of a long list
Function = ast.FunctionDef | ast.AsyncFunctionDef
Documented = Function | ast.ClassDef | ast.Module


@dataclass(frozen=True)
class Measure:
    """A metric to be reduced, and its details, the most important first."""

    value: int
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Module:
    """Metrics of a module."""

    name: str  # dotted
    lines: int  # without docstrings
    functions: tuple[tuple[int, str], ...]  # lines and name of each
    uses_of_any: int
    imported: frozenset[tuple[str, str]]  # (module, name or nothing), at any position
    imported_at_import_time: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Sources:
    """All modules below a folder and the graph of their imports."""

    modules: Mapping[str, Module]

    @classmethod
    def read(cls, root: Path = SOURCES) -> Sources:
        found = (_module(root, path) for path in sorted(root.rglob("*.py")))
        return cls({module.name: module for module in found})

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """The modules that each module imports anywhere."""
        return {name: self._targets(name, module.imported) for name, module in self.modules.items()}

    @cached_property
    def imports_at_import_time(self) -> dict[str, set[str]]:
        """The modules that each module imports when it is imported itself."""
        return {name: self._targets(name, module.imported_at_import_time) for name, module in self.modules.items()}

    def _targets(self, importing: str, imported: frozenset[tuple[str, str]]) -> set[str]:
        inner = ((base, f"{base}.{name}") for base, name in imported)
        found = {whole if whole in self.modules else base for base, whole in inner}
        return (found & self.modules.keys()) - {importing}

    def coupled_pairs(self) -> Measure:
        """Pairs of top-level packages of which one imports the other."""
        pairs: defaultdict[tuple[str, ...], int] = defaultdict(int)
        for name, targets in self.imports.items():
            for target in targets:
                ends = {_package(name), _package(target)} - {""}
                if len(ends) == 2:
                    pairs[tuple(sorted(ends))] += 1
        loosest = sorted(pairs, key=lambda pair: (pairs[pair], pair))
        return Measure(len(pairs), tuple(f"{a} - {b}: {pairs[a, b]} imports" for a, b in loosest[:_LISTED]))

    def modules_in_cycles(self) -> Measure:
        """Modules on import cycles, or between two cycles, that run while modules are imported."""
        cyclic = _cyclic_part(self.imports_at_import_time)
        return Measure(len(cyclic), tuple(f"{name} -> {', '.join(sorted(cyclic[name]))}" for name in sorted(cyclic)))

    def repeated_names(self) -> Measure:
        """Names that more than one module or package has; a leading underscore makes no other name."""
        places: defaultdict[str, list[str]] = defaultdict(list)
        for name in self.modules:
            places[name.rpartition(".")[2].lstrip("_")].append(name)
        places.pop("main__", None)
        repeated = {name: found for name, found in sorted(places.items()) if len(found) > 1}
        return Measure(len(repeated), tuple(f"{name}: {', '.join(found)}" for name, found in repeated.items()))

    def private_modules_imported_elsewhere(self) -> Measure:
        """Modules with a leading underscore that another top-level package imports."""
        found = [
            f"{name} imports {target}"
            for name, targets in self.imports.items()
            for target in sorted(targets)
            if target.rpartition(".")[2].startswith("_") and _package(name) != _package(target)
        ]
        return Measure(len(found), tuple(found))

    def longest_module(self) -> Measure:
        """Lines of the longest module, without docstrings."""
        return _largest((module.lines, module.name) for module in self.modules.values())

    def longest_function(self) -> Measure:
        """Lines of the longest function, from `def` to its last line, without its docstring."""
        return _largest(
            (size, f"{module.name}.{name}") for module in self.modules.values() for size, name in module.functions
        )

    def files(self) -> Measure:
        """Python files."""
        return Measure(len(self.modules))

    def lines(self) -> Measure:
        """Lines of all Python files, without docstrings."""
        return Measure(sum(module.lines for module in self.modules.values()))

    def uses_of_any(self) -> Measure:
        """Uses of `typing.Any`."""
        uses = {name: module.uses_of_any for name, module in self.modules.items()}
        most = sorted((name for name in uses if uses[name]), key=lambda name: -uses[name])
        return Measure(sum(uses.values()), tuple(f"{name}: {uses[name]}" for name in most[:_LISTED]))


def _module(root: Path, path: Path) -> Module:
    source = path.read_text("utf-8")
    parts = path.relative_to(root).with_suffix("").parts
    is_package = parts[-1] == "__init__"
    parts = parts[:-1] if is_package else parts
    package = parts if is_package else parts[:-1]
    tree = ast.parse(source, str(path))
    nodes = list(ast.walk(tree))
    return Module(
        ".".join(parts),
        len(source.splitlines()) - sum(_docstring_length(node) for node in nodes if isinstance(node, Documented)),
        tuple((_length(node), node.name) for node in nodes if isinstance(node, Function)),
        sum(map(_is_any, nodes)),
        _imported(package, nodes),
        _imported(package, _executed(tree.body)),
    )


def _length(node: Function) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1 - _docstring_length(node)


def _docstring_length(node: Documented) -> int:
    if ast.get_docstring(node) is None:
        return 0
    first = node.body[0]
    return (first.end_lineno or first.lineno) - first.lineno + 1


def _imported(package: tuple[str, ...], nodes: Iterable[ast.AST]) -> frozenset[tuple[str, str]]:
    out: set[tuple[str, str]] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            out.update((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            out.update((base, alias.name) for alias in node.names)
    return frozenset(out)


def _package(name: str) -> str:
    """The top-level package or module below the root; nothing for the root itself."""
    return name.split(".")[1] if "." in name else ""


def _executed(statements: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The statements that run when a module is imported: not in functions, not for the type checker only."""
    for statement in statements:
        if isinstance(statement, Function):
            continue
        yield statement
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.dump(statement.test):
            yield from _executed(statement.orelse)
        else:
            yield from _executed(child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.expr))


def _is_any(node: ast.AST) -> bool:
    return (isinstance(node, ast.Name) and node.id == "Any") or (isinstance(node, ast.Attribute) and node.attr == "Any")


def _largest(sized: Iterator[tuple[int, str]]) -> Measure:
    ordered = sorted(sized, reverse=True)
    return Measure(ordered[0][0], tuple(f"{name}: {size} lines" for size, name in ordered[:_LISTED]))


def _cyclic_part(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """What remains of a graph when nodes without successors and nodes without predecessors are removed until none is left."""
    left = dict(graph)
    while True:
        reached = set().union(*left.values()) if left else set()
        kept = {name: targets & left.keys() for name, targets in left.items() if name in reached}
        kept = {name: targets for name, targets in kept.items() if targets}
        if kept == left:
            return left
        left = kept
