"""Circulant matrices, and those of circulant blocks: products in Fourier's space."""

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.linalg import linalg_impl as linalg
from braid.tensorflow.python.ops.linalg import linear_operator
from braid.tensorflow.python.ops.linalg import linear_operator_util as util
from braid.tensorflow.python.ops.signal import fft_ops
from braid.tensorflow.python.util.tf_export import tf_export

_FFT = {1: fft_ops.fft, 2: fft_ops.fft2d, 3: fft_ops.fft3d}
_IFFT = {1: fft_ops.ifft, 2: fft_ops.ifft2d, 3: fft_ops.ifft3d}


def _to_complex(x):
    """x as complex numbers of the same size."""
    if x.dtype.is_complex:
        return x
    return math_ops.cast(x, dtypes.complex128 if x.dtype == dtypes.float64 else dtypes.complex64)


class _BaseLinearOperatorCirculant(linear_operator.LinearOperator):
    """The matrix F^-1 diag(spectrum) F, where F is the transform of `block_depth` dimensions.

    spectrum: [..., N1, ..., N_block_depth]. The matrix has N1 * N2 * ... rows.
    """

    def __init__(self, spectrum, block_depth, input_output_dtype, name, **hints):
        if block_depth not in _FFT:
            raise ValueError(f"Expected block_depth to be in {sorted(_FFT)}.  Found: {block_depth}.")
        self._block_depth = block_depth
        with ops.name_scope(name, values=[spectrum]):
            self._spectrum = ops.convert_to_tensor(spectrum, name="spectrum")
            util.check_rank(
                self._spectrum,
                block_depth,
                f"Argument spectrum must have at least {block_depth} dimensions.  Found: %s",
            )
            if not self._spectrum.dtype.is_complex:
                message = "A real spectrum always corresponds to a self-adjoint operator."
                hints["is_self_adjoint"] = util.implied_hint(True, hints["is_self_adjoint"], message)
            hints["is_square"] = util.implied_hint(
                True, hints["is_square"], "A [[nested] block] circulant operator is always square."
            )
            self._block_shape_tensor = array_ops.shape(self._spectrum)[-block_depth:]
            self._complex_spectrum = _to_complex(self._spectrum)
            self._abs_spectrum = math_ops.abs(self._spectrum)
            self._conjugate_spectrum = math_ops.conj(self._complex_spectrum)
            super().__init__(
                dtype=dtypes.as_dtype(input_output_dtype),
                graph_parents=[self._spectrum],
                name=name,
                **hints,
            )

    @property
    def block_depth(self):
        return self._block_depth

    def block_shape_tensor(self):
        return self._block_shape_tensor

    @property
    def block_shape(self):
        return self._spectrum.shape[-self._block_depth :]

    @property
    def spectrum(self):
        return self._spectrum

    def _own_type(self, x):
        """x in the operator's type: of complex numbers the real part where that is real."""
        if x.dtype.is_complex and not self.dtype.is_complex:
            x = math_ops.real(x)
        return math_ops.cast(x, self.dtype)

    def _axes(self):
        return [-(i + 1) for i in range(self._block_depth)]

    def _shape(self):
        size = self.block_shape.num_elements()
        return self._spectrum.shape[: -self._block_depth].concatenate([size, size])

    def _shape_tensor(self):
        size = math_ops.reduce_prod(self._block_shape_tensor)
        return array_ops.concat((array_ops.shape(self._spectrum)[: -self._block_depth], [size, size]), 0)

    def convolution_kernel(self, name="convolution_kernel"):
        """The first column, in the spectrum's shape: products are convolutions with it."""
        with self._name_scope(name):
            return self._own_type(_IFFT[self._block_depth](_to_complex(self._spectrum)))

    def assert_hermitian_spectrum(self, name="assert_hermitian_spectrum"):
        """An op that fails where the matrix is not real."""
        real = self.dtype.real_dtype
        with self._name_scope(name):
            limit = np.finfo(real.as_numpy_dtype).eps * math_ops.cast(self.domain_dimension_tensor(), real)
            return check_ops.assert_less(
                math_ops.abs(math_ops.imag(self.convolution_kernel())),
                limit,
                message="Spectrum was not Hermitian",
            )

    def _assert_non_singular(self):
        return util.assert_no_entries_with_modulus_zero(
            self._spectrum, message="Singular operator:  Spectrum contained zero values."
        )

    def _assert_positive_definite(self):
        return check_ops.assert_positive(
            math_ops.real(self._spectrum),
            message="Not positive definite:  Real part of spectrum was not all positive.",
        )

    def _assert_self_adjoint(self):
        return util.assert_zero_imag_part(
            self._spectrum, message="Not self-adjoint:  The spectrum contained non-zero imaginary part."
        )

    def _filter(self, x, adjoint, adjoint_arg, combine):
        """Applies `combine` to x, [..., N, R], and the spectrum in Fourier's space."""
        x = linalg.adjoint(x) if adjoint_arg else x
        spectrum = self._conjugate_spectrum if adjoint else self._complex_spectrum
        known = x.shape
        rows = array_ops.matrix_transpose(math_ops.cast(x, spectrum.dtype))  # [..., R, N]
        shape = array_ops.shape(rows)
        blocks = array_ops.reshape(rows, array_ops.concat([shape[:-1], self._block_shape_tensor], 0))
        # The spectrum has an axis for the columns of x.
        spectrum = array_ops.expand_dims(spectrum, -self._block_depth - 1)
        made = _IFFT[self._block_depth](combine(_FFT[self._block_depth](blocks), spectrum))
        flat = array_ops.concat([array_ops.shape(made)[: -self._block_depth], shape[-1:]], 0)
        made = self._own_type(array_ops.matrix_transpose(array_ops.reshape(made, flat)))
        if known.ndims is not None:
            batch = array_ops.broadcast_static_shape(known[:-2], self.batch_shape)
            made.set_shape(batch.concatenate(known[-2:]))
        return made

    def _matmul(self, x, adjoint=False, adjoint_arg=False):
        return self._filter(x, adjoint, adjoint_arg, lambda x, spectrum: x * spectrum)

    def _solve(self, rhs, adjoint=False, adjoint_arg=False):
        return self._filter(rhs, adjoint, adjoint_arg, lambda x, spectrum: x / spectrum)

    def _determinant(self):
        return self._own_type(math_ops.reduce_prod(self._spectrum, axis=self._axes()))

    def _log_abs_determinant(self):
        logs = math_ops.log(self._abs_spectrum)
        return math_ops.cast(math_ops.reduce_sum(logs, axis=self._axes()), self.dtype)

    def _trace(self):
        return self._own_type(math_ops.reduce_sum(self._spectrum, axis=self._axes()))

    def _diag_part(self):
        size = self._diagonal_size()
        element = self.trace() / math_ops.cast(size, self.dtype)
        return array_ops.expand_dims(element, -1) * self._full(1, (size,))


def _circulant(depth, default_name):
    """The __init__ of the operator of this depth."""

    def __init__(
        self,
        spectrum,
        input_output_dtype=dtypes.complex64,
        is_non_singular=None,
        is_self_adjoint=None,
        is_positive_definite=None,
        is_square=True,
        name=default_name,
    ):
        _BaseLinearOperatorCirculant.__init__(
            self,
            spectrum,
            depth,
            input_output_dtype,
            name,
            is_non_singular=is_non_singular,
            is_self_adjoint=is_self_adjoint,
            is_positive_definite=is_positive_definite,
            is_square=is_square,
        )

    return __init__


@tf_export("linalg.LinearOperatorCirculant")
class LinearOperatorCirculant(_BaseLinearOperatorCirculant):
    """Circulant matrices by their eigenvalues, spectrum: [..., N]."""

    __init__ = _circulant(1, "LinearOperatorCirculant")


@tf_export("linalg.LinearOperatorCirculant2D")
class LinearOperatorCirculant2D(_BaseLinearOperatorCirculant):
    """Matrices of circulant blocks, spectrum: [..., N0, N1]."""

    __init__ = _circulant(2, "LinearOperatorCirculant2D")


@tf_export("linalg.LinearOperatorCirculant3D")
class LinearOperatorCirculant3D(_BaseLinearOperatorCirculant):
    """Matrices of blocks of circulant blocks, spectrum: [..., N0, N1, N2]."""

    __init__ = _circulant(3, "LinearOperatorCirculant3D")
