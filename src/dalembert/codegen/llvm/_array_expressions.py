"""Array expressions of compiled loops: elements, slices and views, and NumPy operations on them.

An operation on arrays is a loop over their elements with NumPy's broadcasting, and creates a new array. Slices of columns,
transposed matrices and diagonals are views inside an expression; assigned to a variable they are copied, so writing to the
variable does not change the original array. Rows of an array, and slices of rows, are not copied.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from llvmlite import ir

from dalembert.codegen.compiled_loop import in_machine_code
from dalembert.codegen.llvm._loop_expressions import Expressions
from dalembert.codegen.llvm._value_types import (
    INT,
    Array,
    ArrayView,
    CodeValue,
    Kind,
    MachineWord,
    RecordValue,
    ScalarType,
    integer,
)


def product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B."""
    out = np.zeros((A.shape[0], B.shape[1]))
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            for j in range(B.shape[1]):
                out[i, j] += A[i, k] * B[k, j]
    return out


def times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A x."""
    out = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            out[i] += A[i, j] * x[j]
    return out


def dot(x: np.ndarray, y: np.ndarray) -> float:
    """x · y."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


_PRODUCTS = {(2, 2): product, (2, 1): times, (1, 1): dot}


def take(values: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """values[indices]."""
    out = np.empty(len(indices))
    for i in range(len(indices)):
        out[i] = values[indices[i]]
    return out


def take_rows(A: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """A[indices]."""
    out = np.empty((len(indices), A.shape[1]))
    for i in range(len(indices)):
        for j in range(A.shape[1]):
            out[i, j] = A[indices[i], j]
    return out


_TAKE = {1: take, 2: take_rows}


def shape_of(value: CodeValue) -> list[MachineWord]:
    """The shape of an array or a view; empty for a number."""
    return list(value.words[1 : 1 + value.kind.ndim]) if isinstance(value.kind, Array | ArrayView) else []


class ArrayExpressions(Expressions):
    """Code generation for expressions of arrays."""

    @abstractmethod
    def allocate(self, count: MachineWord) -> MachineWord:
        """The address of memory for `count` numbers, valid until the function returns."""

    @abstractmethod
    def counter(self) -> MachineWord:
        """The address of an integer in the stack frame."""

    @abstractmethod
    def called(self, node: ast.AST, function: object, arguments: Sequence[CodeValue]) -> CodeValue:
        """The return value of a compiled function for these arguments."""

    # elements, slices and views

    def _Subscript(self, node: ast.Subscript) -> CodeValue:
        owner = self.operand(node.value)
        if isinstance(owner.kind, RecordValue):
            return owner.parts()[ast.literal_eval(node.slice)]
        address = self.element_address(node, owner)
        if not isinstance(address.kind, ScalarType):
            return address
        return CodeValue(address.kind, (self.builder.load(address.word),))

    def element_address(self, node: ast.Subscript, owner: CodeValue) -> CodeValue:
        """The address of an element of an array; for slices and fewer indices than axes, the array or view that begins there."""
        indices = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not isinstance(owner.kind, Array | ArrayView):
            self.raise_unsupported(node)
        dots = [i for i, each in enumerate(indices) if isinstance(each, ast.Constant) and each.value is ...]
        used = sum(not isinstance(each, ast.Constant) or isinstance(each.value, int) for each in indices)
        if used > owner.kind.ndim:
            self.raise_unsupported(node)
        at = dots[0] if dots else len(indices)
        indices[at : at + len(dots)] = [ast.Slice()] * (owner.kind.ndim - used)
        axes, offset, shape, strides, dense = iter(range(owner.kind.ndim)), integer(0).word, [], [], True
        sizes, steps = shape_of(owner), self._strides(owner)
        for index in indices:
            if isinstance(index, ast.Constant) and index.value is None:
                shape, strides, dense = [*shape, integer(1).word], [*strides, integer(0).word], False
                continue
            axis = next(axes)
            if isinstance(index, ast.Slice):
                begin, size = self._limits(node, index, sizes[axis])
                dense = dense and (not shape or size is sizes[axis])
                shape, strides = [*shape, size], [*strides, steps[axis]]
            else:
                begin, dense = self.operand(index), dense and not shape
                if isinstance(begin.kind, Array) and len(indices) == owner.kind.ndim and axis == 0:
                    return self.called(node, _TAKE[owner.kind.ndim], [self.dense(owner), begin])
                begin = self._as_index(index, begin)
            offset = self._sum(offset, self._times(begin, steps[axis]))
        pointer = self.builder.gep(owner.word, [offset])
        if not shape:
            return CodeValue(owner.kind.item, (pointer,))
        if dense and isinstance(owner.kind, Array):
            return CodeValue(Array(owner.kind.item, len(shape)), (pointer, *shape))
        return CodeValue(ArrayView(owner.kind.item, len(shape)), (pointer, *shape, *strides))

    def _limits(self, node: ast.AST, part: ast.Slice, size: MachineWord) -> tuple[MachineWord, MachineWord]:
        """The begin of a slice, and its size."""
        if part.step is not None:
            self.raise_unsupported(node)
        begin = integer(0).word if part.lower is None else self.integer_operand(part.lower)
        if part.upper is None and part.lower is None:
            return begin, size
        return begin, self.builder.sub(size if part.upper is None else self.integer_operand(part.upper), begin)

    def integer_operand(self, node: ast.expr) -> MachineWord:
        """An index or a size."""
        return self._as_index(node, self.value(node))

    def _as_index(self, node: ast.expr, found: CodeValue) -> MachineWord:
        return found.word if found.kind == INT else self.raise_unsupported(node, f"expected an int, got {found.kind}:")

    def _times(self, a: MachineWord, b: MachineWord) -> MachineWord:
        """The product of two integers, one of which may be a constant."""
        for this, other in ((a, b), (b, a)):
            if isinstance(this, ir.Constant) and this.constant in (0, 1):
                return other if this.constant else this
        return self.builder.mul(a, b)

    def _sum(self, a: MachineWord, b: MachineWord) -> MachineWord:
        for this, other in ((a, b), (b, a)):
            if isinstance(this, ir.Constant) and this.constant == 0:
                return other
        return self.builder.add(a, b)

    def _strides(self, value: CodeValue) -> list[MachineWord]:
        """The strides of an array along each axis."""
        if isinstance(value.kind, ArrayView):
            return list(value.words[1 + value.kind.ndim :])
        strides = [integer(1).word]
        for size in shape_of(value)[:0:-1]:
            strides.insert(0, self._times(size, strides[0]))
        return strides

    def attribute(self, node: ast.Attribute, owner: CodeValue) -> CodeValue:
        """The transposed matrix as a view, or the shape."""
        if node.attr not in ("T", "mT") or not isinstance(owner.kind, Array | ArrayView) or owner.kind.ndim != 2:
            return super().attribute(node, owner)
        shape, strides = shape_of(owner), self._strides(owner)
        return CodeValue(ArrayView(owner.kind.item, 2), (owner.word, *shape[::-1], *strides[::-1]))

    def diagonal(self, node: ast.Call, M: CodeValue) -> CodeValue:
        """The diagonal of a square matrix as a view."""
        assert isinstance(M.kind, Array | ArrayView)
        step, across = self._strides(M)
        return CodeValue(ArrayView(M.kind.item, 1), (M.word, shape_of(M)[0], self.builder.add(step, across)))

    # loops over elements

    def repeat(self, count: MachineWord, body: Callable[[MachineWord], object]) -> None:
        """Emit a loop over range(count)."""
        test, do, after = (self.builder.append_basic_block(name) for name in ("look", "do", "after"))
        at = self.counter()
        self.builder.store(integer(0).word, at)
        self.builder.branch(test)
        self.builder.position_at_end(test)
        i = self.builder.load(at)
        self.builder.cbranch(self.builder.icmp_signed("<", i, count), do, after)
        self.builder.position_at_end(do)
        body(i)
        self.builder.store(self.builder.add(i, integer(1).word), at)
        self.builder.branch(test)
        self.builder.position_at_end(after)

    def _each(self, shape: Sequence[MachineWord], body: Callable[[list[MachineWord]], object]) -> None:
        """Emit loops over all indices of a shape."""

        def level(index: list[MachineWord]) -> None:
            if len(index) == len(shape):
                body(index)
            else:
                self.repeat(shape[len(index)], lambda i: level([*index, i]))

        level([])

    def _steps(self, value: CodeValue, ndim: int, single: bool) -> list[MachineWord]:
        """The strides of an operand along the axes of the result: 0 along broadcast axes."""
        sizes, one = shape_of(value), integer(1).word
        strides = self._strides(value) if sizes else []
        if not single:
            strides = [
                self.builder.select(self.builder.icmp_signed("==", size, one), integer(0).word, stride)
                for size, stride in zip(sizes, strides, strict=True)
            ]
        return [integer(0).word] * (ndim - len(sizes)) + strides

    def _element(self, value: CodeValue, steps: Sequence[MachineWord], index: Sequence[MachineWord]) -> CodeValue:
        """The element of an operand at an index of the result."""
        if not isinstance(value.kind, Array | ArrayView):
            return value
        return CodeValue(value.kind.item, (self.builder.load(self._at(value.word, steps, index)),))

    def _at(self, pointer: MachineWord, steps: Sequence[MachineWord], index: Sequence[MachineWord]) -> MachineWord:
        offset = integer(0).word
        for i, step in zip(index, steps, strict=True):
            offset = self._sum(offset, self._times(i, step))
        return self.builder.gep(pointer, [offset])

    def _broadcast(self, values: Sequence[CodeValue]) -> list[MachineWord]:
        """The shape of the result of an operation."""
        shapes = sorted((shape_of(value) for value in values), key=len)
        found = shapes.pop()
        for shape in shapes:
            for axis in range(1, len(shape) + 1):
                single = self.builder.icmp_signed("==", found[-axis], integer(1).word)
                found[-axis] = self.builder.select(single, shape[-axis], found[-axis])
        return found

    def elementwise(self, function: Callable[..., CodeValue], *operands: CodeValue) -> CodeValue:
        """Apply a function elementwise to arrays, as a new array; to numbers only, a number."""
        arrays = [value for value in operands if isinstance(value.kind, Array | ArrayView)]
        if not arrays:
            return function(*operands)
        shape = self._broadcast(arrays)
        steps = [self._steps(value, len(shape), len(arrays) == 1) for value in operands]
        data, kinds = self.allocate(self._count(shape)), list[ScalarType]()
        target_strides = self._strides(CodeValue(Array(INT, len(shape)), (data, *shape)))

        def body(index: list[MachineWord]) -> None:
            found = function(*(self._element(*pair, index) for pair in zip(operands, steps, strict=True)))
            assert isinstance(found.kind, ScalarType)
            kinds.append(found.kind)
            pointer = self.builder.bitcast(data, found.kind.word.as_pointer())
            self.builder.store(found.word, self._at(pointer, target_strides, index))

        self._each(shape, body)
        pointer = self.builder.bitcast(data, kinds[0].word.as_pointer())
        return CodeValue(Array(kinds[0], len(shape)), (pointer, *shape))

    def fill(self, node: ast.AST, target: CodeValue, value: CodeValue) -> None:
        """Write a number, or an array with broadcasting, into an array or a view."""
        assert isinstance(target.kind, Array | ArrayView)
        item, shape, target_strides = target.kind.item, shape_of(target), self._strides(target)
        steps = self._steps(value, len(shape), single=False)

        def body(index: list[MachineWord]) -> None:
            found = self.convert(self._element(value, steps, index), item, node)
            self.builder.store(found.word, self._at(target.word, target_strides, index))

        self._each(shape, body)

    def _count(self, shape: Sequence[MachineWord]) -> MachineWord:
        count = integer(1).word
        for size in shape:
            count = self._times(count, size)
        return count

    # operations

    def dense(self, value: CodeValue) -> CodeValue:
        """A value in C order: a view is copied."""
        return self.elementwise(lambda each: each, value) if isinstance(value.kind, ArrayView) else value

    def operation(self, node: ast.AST, operator: ast.operator, left: CodeValue, right: CodeValue) -> CodeValue:
        """left operator right, of numbers or of arrays."""
        if isinstance(operator, ast.MatMult):
            kinds = [each.kind.ndim if isinstance(each.kind, Array | ArrayView) else 0 for each in (left, right)]
            function = _PRODUCTS.get((kinds[0], kinds[1]))
            if function is None:
                self.raise_unsupported(node)
            return self.called(node, function, [self.dense(left), self.dense(right)])
        return self.elementwise(lambda a, b: super(ArrayExpressions, self).operation(node, operator, a, b), left, right)

    def copied(self, node: ast.Call, array: CodeValue) -> CodeValue:
        """A new array with the same elements."""
        return self.elementwise(lambda each: each, array)

    def reshaped(self, node: ast.Call, array: CodeValue, sizes: CodeValue | None = None) -> CodeValue:
        """An array in another shape; flat if no shape is passed."""
        assert isinstance(array.kind, Array)
        shape = [self._count(shape_of(array))] if sizes is None else sizes_of(sizes)
        return CodeValue(Array(array.kind.item, len(shape)), (array.word, *shape))

    def concatenated(self, node: ast.Call, parts: CodeValue) -> CodeValue:
        """Concatenate arrays along their first axis."""
        arrays = parts.parts()
        first: Kind = arrays[0].kind
        if not isinstance(first, Array) or any(each.kind != first for each in arrays):
            self.raise_unsupported(node, "expected arrays of one type in")
        lengths = [shape_of(each)[0] for each in arrays]
        total = lengths[0]
        for length in lengths[1:]:
            total = self.builder.add(total, length)
        shape = [total, *shape_of(arrays[0])[1:]]
        data = self.builder.bitcast(self.allocate(self._count(shape)), first.item.word.as_pointer())
        begin = integer(0).word
        for each in arrays:
            count = self._count(shape_of(each))
            piece = CodeValue(Array(first.item, 1), (self.builder.gep(data, [begin]), count))
            self.fill(node, piece, CodeValue(piece.kind, (each.word, count)))
            begin = self._sum(begin, count)
        return CodeValue(first, (data, *shape))


def sizes_of(sizes: CodeValue) -> list[MachineWord]:
    """A shape, passed as one integer or several."""
    return [sizes.word] if sizes.kind == INT else [part.word for part in sizes.parts()]


# NumPy functions with special code, and those that are applied elementwise

ARRAY_WRITERS = {
    np.diagonal: ArrayExpressions.diagonal,
    np.reshape: ArrayExpressions.reshaped,
    np.ravel: ArrayExpressions.reshaped,
    np.copy: ArrayExpressions.copied,
    np.concatenate: ArrayExpressions.concatenated,
}


@in_machine_code(np.eye)
def identity(n: int) -> np.ndarray:
    """The identity matrix."""
    out = np.zeros((n, n))
    for i in range(n):
        out[i, i] = 1.0
    return out


@in_machine_code(np.linalg.norm, axis=-1)
def row_norms(A: np.ndarray) -> np.ndarray:
    """The Euclidean norms of rows."""
    out = np.empty(A.shape[0])
    for i in range(A.shape[0]):
        square = 0.0
        for j in range(A.shape[1]):
            square += A[i, j] * A[i, j]
        out[i] = np.sqrt(square)
    return out


@in_machine_code(np.max, axis=-1, keepdims=True, initial=0.0)
def largest(values: np.ndarray) -> float:
    """The largest value, or 0."""
    maximum = 0.0
    for i in range(len(values)):
        maximum = max(maximum, values[i])
    return maximum


@in_machine_code(np.sum)
def total(values: np.ndarray) -> float:
    """The sum of values."""
    found = 0.0
    for i in range(len(values)):
        found += values[i]
    return found


@in_machine_code(np.count_nonzero)
def count(mask: np.ndarray) -> int:
    """The number of true elements."""
    found = 0
    for i in range(len(mask)):
        if mask[i]:
            found += 1
    return found


@in_machine_code(np.all)
def all_of(mask: np.ndarray) -> bool:
    """True if all elements are true."""
    return count(mask) == len(mask)


@in_machine_code(np.argmax)
def argmax(values: np.ndarray) -> int:
    """The index of the largest value, the first if several are equal."""
    best = 0
    for i in range(1, len(values)):
        if values[i] > values[best]:
            best = i
    return best


@in_machine_code(np.nan_to_num)
def numbers(values: np.ndarray) -> np.ndarray:
    """The values, with zeros for NaN."""
    return np.where(values == values, values, 0.0)
