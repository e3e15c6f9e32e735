"""Random programs of TensorFlow 1, each given by a seed.

    programs.py SEED    prints the program

A program is a list of pieces of Python. Each piece is a line of the tables below whose {...} are filled:

    {K:SHAPE:RANGE}  an argument of kind K: f float32, x float32 that both sides have without rounding, p above
                     0, u in (0, 1), t in (-1, 1), d float64, c complex64, h float16, i int32, l int64, q uint8,
                     b bool, s string. SHAPE: numbers, letters (a size of 1 to 4, the same in the whole
                     piece), $ (a shape of the whole piece), $b (one that broadcasts to it); without SHAPE any.
    {n:LOW,HIGH}     an integer, {?:a|b|c} one of these words
    @                the number of the piece, for names

What stands before " = " are the kinds of the results, which later pieces may take; "-" is not taken. A piece
may append to `steps` what is to be run for itself, in order, after the results. The names of the namespace
are in run_programs.py.
"""

import random
import re
import sys

DOMAINS = {
    # functions of one tensor of float32, by the arguments at which they are smooth
    "f": """tf.negative tf.square tf.sin tf.cos tf.sigmoid tf.tanh tf.nn.softplus tf.nn.elu tf.nn.selu tf.atan
        tf.asinh tf.erf tf.nn.softsign tf.identity tf.log_sigmoid tf.math.erfc tf.nn.swish
        tf.nn.l2_loss tf.zeros_like tf.ones_like tf.stop_gradient tf.math.bessel_i0e tf.math.bessel_i1e
       """,
    "t": "tf.exp tf.expm1 tf.sinh tf.cosh tf.tan tf.asin tf.acos tf.atanh",
    "p": """tf.log tf.log1p tf.sqrt tf.rsqrt tf.reciprocal tf.lgamma tf.digamma""",
    "x": """tf.abs tf.sign tf.floor tf.ceil tf.round tf.rint tf.nn.relu tf.nn.relu6 tf.nn.leaky_relu
        tf.zeros_like tf.ones_like""",
}

BINARY = {
    "f f": "tf.add tf.subtract tf.multiply tf.squared_difference tf.math.multiply_no_nan",
    "f p": "tf.divide tf.truediv tf.div tf.div_no_nan tf.realdiv tf.atan2",
    "x x": "tf.maximum tf.minimum tf.math.divide_no_nan",
    "p p": "tf.pow tf.math.xlogy tf.math.xdivy tf.math.igamma tf.math.igammac",
}

COMPARED = "tf.equal tf.not_equal tf.less tf.less_equal tf.greater tf.greater_equal"

REDUCED = "tf.reduce_sum tf.reduce_mean tf.reduce_max tf.reduce_min tf.reduce_prod tf.reduce_logsumexp \
    tf.math.reduce_std tf.math.reduce_variance tf.math.reduce_euclidean_norm"

LINES = """
f = {f} + {n:1,3}
f = 1.0 / (1.0 + tf.square({f}))
f = {f:$} * {f:$b} - {f:$b}
x = {x:$} * {x:$b} + {x:$b}
x = {x:$} // {n:1,3}
x = {x:$} % {n:1,3}
f = tf.add_n([{f:A,B}, {f:A,B}, {f:A,B}])
f = tf.accumulate_n([{f:A,B}, {f:A,B}])
f = tf.cumsum({f:A,B}, axis={n:-2,1}, exclusive={?:True|False}, reverse={?:True|False})
f = tf.cumprod({f:A,B}, {n:0,1}, exclusive={?:True|False}, reverse={?:True|False})
f = tf.clip_by_value({x}, -1.0, {p:})
f = tf.clip_by_norm({f:A,B}, {n:1,3})
f = tf.clip_by_norm({f:A,B}, 1.5, axes=[1])
f = tf.clip_by_average_norm({f:A,B}, 0.5)
-,f = tf.clip_by_global_norm([{f:A,B}, {f:C}], {n:1,4})
f = tf.global_norm([{f:A,B}, {f:C}])
f = tf.lin_space(0.0, {n:1,5}.0, {n:1,6})
x = tf.range({n:0,3}, {n:4,9}, {n:1,3})
x = tf.cast(tf.range(0.0, 2.0, 0.25), tf.float32)
i = tf.range({n:0,6})
l = tf.range(tf.constant({n:2,6}, tf.int64))
i = {i:$} + {i:$b}
i = {i:$} * {i:$b} - 3
i = tf.floordiv({i:$}, {i:$b:1,5})
i = tf.floormod({i:$}, {i:$b:1,5})
i = tf.truncatediv({i:$}, {i:$b:1,5})
i = tf.truncatemod({i:$}, {i:$b:1,5})
i = tf.mod({i:$}, {i:$b:1,4})
d = {i:$} / {i:$b:1,5}
i = tf.bitwise.{?:bitwise_and|bitwise_or|bitwise_xor}({i:$:0,64}, {i:$b:0,64})
i = tf.bitwise.{?:left_shift|right_shift}({i:$:0,64}, {i:$b:0,5})
i = tf.bitwise.invert({i})
i = tf.{?:abs|negative|square|sign}({i})
l = tf.{?:abs|negative|square|sign}({l})
d = tf.{?:sin|exp|square|tanh|sigmoid}({d})
d = {d:$} * {d:$b}
c = {c:$} * {c:$b} + {c:$b}
c = tf.{?:conj|square|negative|sin|cos}({c})
f = tf.{?:real|imag|abs|angle}({c})
c = tf.complex({f:A,B}, {f:A,B})
i = tf.{?:maximum|minimum}({i:$}, {i:$b})
b = tf.logical_{?:and|or|xor}({b:$}, {b:$b})
b = tf.logical_not({b})
b = tf.is_{?:nan|inf|finite}({f})
b = tf.reduce_{?:all|any}({b:A,B}, {n:0,1}, keepdims={?:True|False})
b = tf.equal({s:A}, {s:A})
i = tf.cast({x}, tf.int32)
i = tf.to_int32({x})
l = tf.cast({x}, tf.int64)
x = tf.cast({i}, tf.float32)
x = tf.to_float({b})
d = tf.cast({x}, tf.float64)
d = tf.to_double({i})
b = tf.cast({i}, tf.bool)
- = tf.cast({x}, tf.float16)
x = tf.cast(tf.cast({x}, tf.bfloat16), tf.float32)
- = tf.saturate_cast({i:A:-300,300}, tf.{?:uint8|int8|int16})
- = tf.cast({i:A:0,200}, tf.{?:uint8|uint16|int16})
i = tf.bitcast({x:A,B}, tf.int32)
- = tf.bitcast({x:A,B}, tf.uint8)
x = tf.cast({q:A,B}, tf.float32)
l = tf.{?:argmax|argmin}({x:A,B}, {n:0,1})
i = tf.argmax({x:A,B}, 1, output_type=tf.int32)
f = tf.matmul({f:A,B}, {f:B,C})
f = tf.matmul({f:A,B}, {f:C,B}, transpose_b=True)
f = tf.matmul({f:B,A}, {f:B,C}, transpose_a=True)
f = tf.matmul({f:E,A,B}, {f:E,B,C})
f = tf.matmul({f:E,A,B}, {f:E,C,B}, adjoint_b=True)
d = tf.matmul({d:A,B}, {d:B,C})
i = tf.matmul({i:A,B}, {i:B,C})
f = tf.matmul({f:A,B}, {f:B,C}, a_is_sparse=True)
f = tf.linalg.matvec({f:A,B}, {f:B})
f = tf.tensordot({f:A,B,C}, {f:C,B,D}, axes=[[1, 2], [1, 0]])
f = tf.tensordot({f:A,B,C}, {f:C,D}, 1)
f = tf.einsum("{?:ij,jk->ik|ij,jk->ki|ij,jk->i|ij,jk->ijk}", {f:A,B}, {f:B,C})
f = tf.einsum("bij,bjk->bik", {f:E,A,B}, {f:E,B,C})
f = tf.einsum("{?:ij->ji|ij->i|ij->j|ij->}", {f:A,B})
f = tf.cross({f:A,3}, {f:A,3})
f = tf.trace({f:A,A})
f = tf.norm({f:A,B}, ord={?:1|2|"euclidean"|np.inf}, axis={?:None|0|1}, keepdims={?:True|False})
f = tf.nn.l2_normalize({f:A,B}, {n:0,1})
f = tf.math.l2_normalize({f:A,B}, axis=[0, 1])
f = tf.segment_{?:sum|mean|prod|max|min}({x:4,A}, tf.constant([0, 0, 1, {n:1,3}]))
f = tf.unsorted_segment_{?:sum|mean|prod|max|min|sqrt_n}({x:4,A}, {i:4:0,3}, 3)
f = tf.sparse_segment_{?:sum|mean|sqrt_n}({f:4,A}, {i:3:0,4}, [0, 0, {n:1,2}])
f = tf.sparse_segment_sum({f:4,A}, {i:3:0,4}, [0, 0, 2], num_segments=4)
i = tf.bincount({i:A:0,6})
i = tf.bincount({i:A:0,6}, minlength=3, maxlength=5)
f = tf.bincount({i:3:0,6}, weights={x:3})
i = tf.histogram_fixed_width({x:A,B}, [-2.0, 2.0], nbins={n:2,6})
i = tf.histogram_fixed_width_bins({x:A,B}, [-2.0, 2.0], nbins={n:2,6})
i = tf.confusion_matrix({i:4:0,3}, {i:4:0,3})
i = tf.confusion_matrix({i:4:0,3}, {i:4:0,3}, num_classes=4)
f = tf.confusion_matrix({i:4:0,3}, {i:4:0,3}, dtype=tf.float32, weights={x:4})
f = tf.math.polyval([{f:A}, {f:A}, {f:A}], {t:A})
f = tf.betainc({p:A}, {p:A}, {u:A})
f = tf.lbeta({p:A,B})
f = tf.math.polygamma(1.0, {p:A})
f = tf.math.zeta(2.5, {p:A})
l = tf.count_nonzero({x:A,B}, axis={?:None|0|1})
i = tf.count_nonzero({x:A,B}, 0, dtype=tf.int32, keepdims=True)
i = tf.math.bincount({i:A:0,6}, minlength=6)
f = tf.scalar_mul(0.5, {f})
f = tf.math.add_n([{f:A}, {f:A}])
f = tf.nn.softmax({f:A,B}, axis={?:-1|0})
f = tf.nn.log_softmax({f:A,B}, {?:-1|0})
f = tf.nn.softmax_cross_entropy_with_logits(labels=tf.nn.softmax({f:A,B}), logits={f:A,B})
f = tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax({f:A,B}), logits={f:A,B})
f = tf.nn.sparse_softmax_cross_entropy_with_logits(labels={i:A:0,1}, logits={f:A,B})
f = tf.nn.sigmoid_cross_entropy_with_logits(labels={u:A,B}, logits={f:A,B})
f = tf.nn.weighted_cross_entropy_with_logits({u:A,B}, {f:A,B}, 2.0)
f = tf.nn.bias_add({f:A,B}, {f:B})
f = tf.nn.bias_add({f:2,A,B,C}, {f:C})
f = tf.nn.xw_plus_b({f:A,B}, {f:B,C}, {f:C})
f = tf.nn.relu_layer({x:A,B}, {x:B,C}, {x:C})
f = tf.nn.crelu({x:A,B})
f = tf.nn.conv2d({f:2,6,5,A}, {f:3,3,A,B}, [1, {n:1,2}, 1, 1], "{?:SAME|VALID}")
f = tf.nn.conv2d({f:1,6,6,A}, {f:2,3,A,B}, strides=[1, 1, 1, 1], padding="{?:SAME|VALID}", dilations=[1, 2, 2, 1])
f = tf.nn.conv2d_transpose({f:1,3,3,A}, {f:2,2,B,A}, [1, 6, 6, {B}], [1, 2, 2, 1])
f = tf.nn.conv2d_backprop_input([1, 5, 5, {A}], {f:3,3,A,B}, {f:1,5,5,B}, [1, 1, 1, 1], "SAME")
f = tf.nn.conv2d_backprop_filter({f:1,5,5,A}, [3, 3, {A}, {B}], {f:1,5,5,B}, [1, 1, 1, 1], "SAME")
f = tf.nn.depthwise_conv2d({f:1,5,5,A}, {f:2,2,A,B}, [1, 1, 1, 1], "{?:SAME|VALID}")
f = tf.nn.separable_conv2d({f:1,5,5,2}, {f:2,2,2,2}, {f:1,1,4,B}, [1, 1, 1, 1], "{?:SAME|VALID}")
f = tf.nn.atrous_conv2d({f:1,6,6,A}, {f:2,2,A,B}, 2, "{?:SAME|VALID}")
f = tf.nn.conv1d({f:2,6,A}, {f:3,A,B}, {n:1,2}, "{?:SAME|VALID}")
f = tf.nn.conv3d({f:1,4,4,3,A}, {f:2,2,2,A,B}, [1, 1, 1, 1, 1], "{?:SAME|VALID}")
f = tf.nn.convolution({f:1,6,5,A}, {f:2,2,A,B}, "{?:SAME|VALID}", dilation_rate=[{n:1,2}, 1])
f = tf.nn.max_pool({x:1,5,5,A}, [1, {n:2,3}, 2, 1], [1, 2, {n:1,2}, 1], "{?:SAME|VALID}")
f = tf.nn.avg_pool({f:1,5,5,A}, [1, {n:2,3}, 2, 1], [1, 2, {n:1,2}, 1], "{?:SAME|VALID}")
f = tf.nn.max_pool3d({x:1,4,4,4,A}, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "{?:SAME|VALID}")
f = tf.nn.avg_pool3d({f:1,4,4,4,A}, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "{?:SAME|VALID}")
f = tf.nn.pool({f:1,5,5,A}, [2, 2], "{?:AVG|MAX}", "{?:SAME|VALID}")
-,l = tf.nn.max_pool_with_argmax({x:1,4,4,A}, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
f = tf.nn.dilation2d({x:1,5,5,A}, {x:2,2,A}, [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
f = tf.nn.erosion2d({x:1,5,5,A}, {x:2,2,A}, [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
f = tf.nn.lrn({f:1,3,3,A}, depth_radius=2, bias=1.0, alpha=0.5, beta=0.5)
f = tf.nn.batch_normalization({f:A,B}, {f:B}, {p:B}, {f:B}, {f:B}, 0.001)
-,-,- = tf.nn.fused_batch_norm({f:2,4,4,A}, {p:A}, {f:A}, epsilon=0.01)
f,-,- = tf.nn.fused_batch_norm({f:2,3,3,A}, {p:A}, {f:A}, mean={f:A}, variance={p:A}, is_training=False)
f,f = tf.nn.moments({f:A,B,C}, [0, {n:1,2}], keep_dims={?:True|False})
f,f = tf.nn.weighted_moments({f:A,B}, [0], {p:A,B})
-,f,f,- = tf.nn.sufficient_statistics({f:A,B}, [0])
f,i = tf.nn.top_k({x:A,4}, {n:1,4})
b = tf.nn.in_top_k({x:A,4}, {i:A:0,4}, {n:1,3})
f = tf.nn.embedding_lookup({f:4,B}, {i:A,C:0,4})
f = tf.nn.embedding_lookup([{f:2,B}, {f:2,B}], {i:A:0,4}, partition_strategy="{?:mod|div}")
f = tf.nn.embedding_lookup_sparse({f:4,B}, sparse(tf, [3, 2], {l:3:0,4}), None, combiner="{?:sum|mean|sqrtn}")
f = tf.nn.embedding_lookup_sparse({f:4,B}, sparse(tf, [2, 2], {l:3:0,4}), sparse(tf, [2, 2], {p:3}), combiner="{?:sum|mean|sqrtn}")
f = tf.nn.safe_embedding_lookup_sparse({f:4,B}, sparse(tf, [3, 2], {l:3:0,4}), None)
f = tf.nn.normalize_moments({p:}, {f:A}, {f:A}, {f:A})
f = tf.nn.log_poisson_loss({p:A}, {t:A}, compute_full_loss={?:True|False})
f = tf.nn.ctc_loss(tf.SparseTensor([[0, 0], [0, 1]], tf.constant([1, {n:0,1}]), [1, 2]), {f:4,1,3}, [4])
-,f = tf.nn.ctc_greedy_decoder({x:4,2,3}, [4, 3])
f = tf.nn.space_to_batch({f:1,4,4,A}, [[0, 0], [0, 0]], 2)
x = tf.reshape({x:A,B,C}, [{A}, -1])
x = tf.reshape({x:A,B}, [{B}, {A}, 1])
x = tf.transpose({x:A,B,C}, [{?:0, 2, 1|2, 0, 1|1, 0, 2|2, 1, 0}])
x = tf.transpose({x:A,B})
x = tf.concat([{x:A,B}, {x:A,C}], {?:1|-1})
x = tf.concat([{x:A,B}, {x:C,B}, {x:D,B}], 0)
s = tf.concat([{s:A}, {s:B}], 0)
i = tf.stack([{i:A}, {i:A}, {i:A}], axis={?:0|1|-1})
x = tf.stack([{x:A,B}, {x:A,B}], {?:0|1|2})
x,x = tf.unstack({x:A,2}, axis=1)
x,x,x = tf.unstack({x:3,A}, 3)
x,x = tf.split({x:4,A}, 2)
x,x = tf.split({x:A,5}, [2, -1], 1)
x,x = tf.split({x:A,4}, num_or_size_splits=2, axis=-1)
x = tf.slice({x:4,4}, [{n:0,2}, {n:0,1}], [{n:1,2}, {?:-1|2}])
x = {x:4,A}[{n:0,2}:]
x = {x:4,4}[1:{n:2,4}, ::{?:2|-1|1}]
x = {x:4,A}[..., {?:tf.newaxis|0|-1}]
x = {x:3,4,A}[{n:-2,1}, {?:1:3|:|None|::2}]
x = {x:3,4}[:, {n:0,3}]
x = {x:3,A}[1]
x = tf.strided_slice({x:4,4}, [0, 3], [4, 0], [{n:1,2}, -1])
x = tf.expand_dims({x:A,B}, {?:0|1|2|-1|-2})
x = tf.squeeze({x:1,A,1})
x = tf.squeeze({x:1,A,1}, axis=[{?:0|2|-1|0, 2}])
x = tf.tile({x:A,B}, [{n:1,2}, {n:1,3}])
x = tf.pad({x:A,B}, [[{n:0,2}, 1], [0, {n:0,2}]])
x = tf.pad({x:3,3}, [[{n:0,2}, 1], [2, {n:0,1}]], mode="{?:REFLECT|SYMMETRIC}")
x = tf.pad({x:A,B}, [[1, 0], [0, 1]], constant_values={n:1,3})
x = tf.reverse({x:A,B}, axis=[{?:0|1|-1|0, 1}])
x = tf.reverse_sequence({x:2,4,A}, [{n:0,4}, {n:1,3}], seq_axis=1, batch_axis=0)
x = tf.roll({x:A,B}, shift=[{n:-2,2}], axis=[{n:0,1}])
x = tf.gather({x:4,A}, {i:B,C:0,4})
x = tf.gather({x:A,4}, {i:B:0,4}, axis={?:1|-1})
x = tf.gather({x:2,4,B}, {i:2,3:0,4}, batch_dims=1)
s = tf.gather({s:4}, {i:B:0,4})
x = tf.gather_nd({x:3,4,A}, {i:B,2:0,3})
x = tf.gather_nd({x:2,3,4}, {i:2,B,1:0,3}, batch_dims=1)
x = tf.batch_gather({x:2,4}, {i:2,3:0,4})
x = tf.scatter_nd({i:3,1:0,5}, {x:3,A}, [5, {A}])
x = tf.tensor_scatter_{?:add|sub}({x:4,A}, {i:3,1:0,4}, {x:3,A})
x = tf.tensor_scatter_update({x:4,A}, [[0], [{n:1,3}]], {x:2,A})
x = tf.boolean_mask({x:A,B}, {b:A})
x = tf.boolean_mask({x:A,B,C}, {b:A,B})
x = tf.boolean_mask({x:A,B}, {b:B}, axis=1)
l = tf.where({b:A,B})
x = tf.where({b:A,B}, {x:A,B}, {x:A,B})
x = tf.where({b:A}, {x:A,B}, {x:A,B})
x = tf.where_v2({b:A,1}, {x:A,B}, {x:B})
x = tf.one_hot({i:A,B:0,4}, 4)
x = tf.one_hot({i:A:0,3}, 3, on_value=2.0, off_value=-1.0, axis={?:0|-1})
i = tf.one_hot({i:A:-1,5}, 4, 1, 0)
x = tf.fill([{A}, {B}], {?:2.5|0.0})
i = tf.fill([{A}], {n:1,5})
x = tf.zeros([{A}, {B}])
x = tf.ones([{A}])
- = tf.zeros([{A}], tf.string)
x = tf.eye({n:1,4}, {?:None|2})
x = tf.eye(3, batch_shape=[2])
x = tf.diag({x:A})
x = tf.diag_part({x:A,A})
x = tf.matrix_diag({x:A,B})
x = tf.matrix_diag_part({x:E,A,B})
x = tf.matrix_set_diag({x:3,4}, {x:3})
x = tf.matrix_band_part({x:A,B}, {n:-1,2}, {n:-1,2})
x = tf.matrix_transpose({x:E,A,B})
x = tf.linalg.{?:adjoint|transpose}({x:A,B})
x = tf.broadcast_to({x:1,B}, [{A}, {B}])
i = tf.broadcast_dynamic_shape([{A}, 1], [{B}])
i = tf.shape({f})
l = tf.shape({f}, out_type=tf.int64)
i = tf.size({f})
i = tf.rank({f})
i = tf.shape_n([{f}, {f}])[0]
f = tf.ensure_shape({f:A,B}, [None, {B}])
x,i = tf.unique({x:4})
i,i = tf.unique({i:4:0,3})
i,i,i = tf.unique_with_counts({i:4:0,3})
s,- = tf.unique({s:4})
i,i = tf.setdiff1d({i:4:0,6}, {i:3:0,6})
i = tf.invert_permutation([{?:2, 0, 1|1, 2, 0|0, 1, 2}])
x = tf.sequence_mask({i:A:0,4}, 4, dtype=tf.float32)
b = tf.sequence_mask({i:A:0,4})
x,x = tf.dynamic_partition({x:4,A}, {i:4:0,2}, 2)
x = tf.dynamic_stitch([[0, 2], [1, {?:3|1}]], [{x:2,A}, {x:2,A}])
x,x = tf.meshgrid({x:A}, {x:B}, indexing="{?:ij|xy}")
x = tf.space_to_depth({x:1,4,4,A}, 2)
x = tf.depth_to_space({x:1,2,2,4}, 2)
x = tf.space_to_batch_nd({x:1,4,4,A}, [2, 2], [[0, 0], [{n:0,1}, 1]]) if {n:0,0} else tf.space_to_batch_nd({x:1,4,4,A}, [2, 2], [[0, 0], [1, 1]])
x = tf.batch_to_space_nd({x:4,2,2,A}, [2, 2], [[0, 0], [{n:0,1}, 0]])
x = tf.extract_image_patches({x:1,4,4,A}, [1, 2, 2, 1], [1, {n:1,2}, 1, 1], [1, 1, 1, 1], "{?:SAME|VALID}")
x = tf.sort({x:A,B}, axis={?:-1|0}, direction="{?:ASCENDING|DESCENDING}")
i = tf.argsort({i:4:0,3}, stable=True)
i = tf.searchsorted([1, 3, 5, 7], {i:A:0,9}, side="{?:left|right}")
x = tf.parallel_stack([{x:A}, {x:A}])
x = tf.repeat({x:A}, {n:1,3})
x = tf.repeat({x:2,A}, [1, {n:0,3}], axis=0)
x,x = tf.identity_n([{x:A}, {x:B}])
s = tf.as_string({i})
s = tf.as_string({x}, precision={n:1,3})
s = tf.as_string({x}, scientific=True, width=12, fill="{?:0| |-}")
s = tf.as_string({b})
s = tf.as_string({l}, width=5, fill="0")
s = tf.string_join([{s:A}, {s:A}], separator="{?:|-}")
s = tf.reduce_join({s:A,B}, {n:0,1}, separator="{?:|,}", keep_dims={?:True|False})
s = tf.reduce_join({s:A,B})
s = tf.substr({s:A}, 0, {n:0,2})
s = tf.strings.substr(tf.constant(["héllo", "日本語x"]), 1, {n:1,2}, unit="{?:BYTE|UTF8_CHAR}")
i = tf.strings.length({s})
i = tf.strings.length(tf.constant(["é", "日本"]), unit="{?:BYTE|UTF8_CHAR}")
s = tf.strings.{?:lower|upper|strip}({s})
s = tf.regex_replace({s}, "[aeiou]+", "{?:_|<\\\\0>|}", replace_global={?:True|False})
b = tf.strings.regex_full_match({s}, ".*{?:a|e|[0-9]}.*")
l = tf.string_to_hash_bucket_fast({s}, {n:2,100})
l = tf.string_to_hash_bucket({s}, {n:2,100})
l = tf.string_to_hash_bucket_strong({s}, 100, [1, {n:2,5}])
- = tf.string_split({s:A}, delimiter="{?: |a|}")
- = tf.string_split({s:A}, "ab", skip_empty=False)
- = tf.strings.split({s:A}, sep="{?: |a}").values
s = tf.encode_base64({s}, pad={?:True|False})
s = tf.decode_base64(tf.encode_base64({s}))
x = tf.string_to_number(tf.as_string({x}))
i = tf.string_to_number(["{n:-9,9}", " 12 "], tf.int32)
- = tf.decode_raw(["abcd", "efgh"], tf.{?:uint8|int16|int32|float32})
- = tf.decode_csv(["1,2.5,x", ",,"], [[{n:0,9}], [0.5], ["d"]])
- = tf.decode_csv(["1;2;\\\"q;r\\\"", "7;;"], [[0], [0.5], ["d"]], field_delim=";")
- = tf.strings.unicode_decode(["héé", "日"], "UTF-8").values
- = tf.strings.unicode_encode([[104, 233], [26085, {n:60,90}]], "UTF-8")
- = tf.strings.unicode_script([33, 0x65E5, {n:60,90}])
- = tf.strings.unicode_transcode(["h\\u00e9"], "UTF-8", "UTF-16-BE")
s = tf.strings.format("{?:a {} b|{}}", [{i:A}], summarize=2)
s = {s:A}
- = tf.fingerprint({s:A})
- = tf.serialize_tensor({x:A,B})
x = tf.parse_tensor(tf.serialize_tensor({x:A,B}), tf.float32)
- = tf.parse_example([example(1), example({n:2,5})], {"a": tf.FixedLenFeature([], tf.int64), "b": tf.VarLenFeature(tf.float32), "c": tf.FixedLenFeature([], tf.string, default_value="z")})
- = tf.parse_single_example(example({n:1,5}), {"a": tf.FixedLenFeature([1], tf.int64), "b": tf.FixedLenSequenceFeature([], tf.float32, allow_missing=True)})
- = tf.sparse.to_dense(tf.sparse.reorder(sparse(tf, [4, 5], {x:3})))
x = tf.sparse_tensor_to_dense(sparse(tf, [4, 5], {x:3}), default_value={n:0,2})
- = tf.sparse_add(sparse(tf, [4, 5], {x:3}), sparse(tf, [4, 5], {x:4}))
x = tf.sparse_add(sparse(tf, [4, 5], {x:3}), {x:4,5})
- = tf.sparse_concat({n:0,1}, [sparse(tf, [3, 3], {x:3}), sparse(tf, [3, 3], {x:2})])
- = tf.sparse_slice(sparse(tf, [4, 5], {x:4}), [{n:0,2}, 1], [2, 3])
- = tf.sparse_split(sp_input=sparse(tf, [4, 6], {x:4}), num_split=2, axis={n:0,1})
- = tf.sparse_reshape(sparse(tf, [4, 6], {x:4}), [{?:8, 3|2, -1|24}])
- = tf.sparse_transpose(sparse(tf, [4, 5], {x:3}))
- = tf.sparse_retain(sparse(tf, [4, 5], {x:3}), {b:3})
x = tf.sparse_reduce_sum(sparse(tf, [4, 5], {x:3}), {n:0,1}, keepdims={?:True|False})
x = tf.sparse_reduce_max(sparse(tf, [4, 5], {x:3}), {n:0,1})
- = tf.sparse_softmax(sparse(tf, [4, 5], {f:4}))
f = tf.sparse_tensor_dense_matmul(sparse(tf, [4, 5], {f:4}), {f:5,A})
f = tf.sparse_tensor_dense_matmul(sparse(tf, [4, 5], {f:4}), {f:4,A}, adjoint_a=True)
- = tf.sparse_fill_empty_rows(sparse(tf, [4, 5], {x:3}), 7.0)
- = tf.sparse_maximum(sparse(tf, [4, 5], {x:3}), sparse(tf, [4, 5], {x:4}))
- = tf.sparse_to_indicator(sparse(tf, [3, 2], {l:3:0,4}), 5)
- = sparse(tf, [4, 5], {x:3}) * {x:4,5}
- = sparse(tf, [4, 5], {f:3}) / {p:4,5}
x = tf.sparse_to_dense([[0, 1], [2, {n:0,2}]], [3, 3], [1.5, 2.5], 0.25)
- = tf.edit_distance(sparse(tf, [3, 2], {l:3:0,4}), sparse(tf, [3, 2], {l:2:0,4}), normalize={?:True|False})
- = tf.sets.{?:intersection|union|difference}({i:2,3:0,5}, {i:2,3:0,5})
i = tf.sets.size(tf.sets.union({i:2,3:0,5}, {i:2,3:0,5}))
- = tf.serialize_sparse(sparse(tf, [4, 5], {x:3}))
- = tf.sparse.from_dense({x:A,B})
- = tf.sparse.expand_dims(sparse(tf, [4, 5], {x:3}), {n:0,1})
f = tf.cholesky(spd(tf, {t:A,A}))
f = tf.matrix_inverse(spd(tf, {t:A,A}), adjoint={?:True|False})
f = tf.matrix_solve(spd(tf, {t:A,A}), {f:A,B})
f = tf.matrix_triangular_solve(tf.cholesky(spd(tf, {t:A,A})), {f:A,B}, lower=True, adjoint={?:True|False})
f = tf.cholesky_solve(tf.cholesky(spd(tf, {t:A,A})), {f:A,B})
f = tf.matrix_determinant(spd(tf, {t:A,A}))
f,f = tf.linalg.slogdet(spd(tf, {t:A,A}))
f = tf.linalg.logdet(spd(tf, {t:A,A}))
f = tf.self_adjoint_eigvals(spd(tf, {t:A,A}))
f = tf.svd({t:A,B}, compute_uv=False)
f = tf.abs(tf.qr({t:4,B})[1])
f = tf.ones([4 + {B}, 2]), l2_regularizer=0.1)
f = tf.linalg.expm({t:A,A})
- = tf.linalg.lu(spd(tf, {t:3,3}))
f = tf.linalg.tensor_diag({f:A})
f = tf.linalg.diag({f:A}, k={n:-1,1})
c = tf.{?:fft|ifft}(tf.complex({f:4}, {f:4}))
c = tf.{?:fft2d|ifft2d}(tf.complex({f:2,4}, {f:2,4}))
c = tf.signal.rfft({f:A,8})
f = tf.signal.irfft(tf.signal.rfft({f:A,8}))
f = tf.signal.frame({f:12}, {n:2,4}, {n:1,3}, pad_end={?:True|False})
c = tf.signal.stft({f:16}, 8, 4)
f = tf.signal.{?:hann_window|hamming_window}({n:2,8})
f = tf.signal.dct({f:A,4}, type=2)
f = tf.signal.overlap_and_add({f:3,4}, 2)
f = tf.signal.linear_to_mel_weight_matrix(4, 9, 8000.0, 100.0, 3000.0)
x = tf.image.{?:flip_left_right|flip_up_down|transpose_image|rot90}({x:3,4,A})
x = tf.image.rot90({x:3,4,A}, k={n:0,3})
x = tf.image.central_crop({x:4,4,A}, 0.5)
x = tf.image.crop_to_bounding_box({x:1,5,5,A}, {n:0,2}, 1, 2, 3)
x = tf.image.pad_to_bounding_box({x:1,3,3,A}, {n:0,2}, 1, 6, 5)
x = tf.image.resize_image_with_crop_or_pad({x:1,5,4,A}, {n:2,7}, {n:2,7})
f = tf.image.resize_{?:bilinear|nearest_neighbor|area|bicubic}({f:1,4,4,A}, [{n:2,7}, {n:2,7}])
f = tf.image.resize_{?:bilinear|nearest_neighbor}({f:1,4,4,A}, [7, 7], align_corners=True)
f = tf.image.resize_{?:bilinear|nearest_neighbor|bicubic}({f:1,4,4,A}, [6, 3], half_pixel_centers=True)
f = tf.image.resize_images({f:1,4,4,A}, [{n:2,7}, 5], method={n:0,2})
f = tf.image.crop_and_resize({f:1,5,5,A}, [[0.0, 0.0, 1.0, 1.0], [0.25, 0.5, 0.75, 0.875]], [0, 0], [3, {n:2,4}])
f = tf.image.rgb_to_grayscale({u:2,2,3})
f = tf.image.grayscale_to_rgb({f:2,2,1})
f = tf.image.rgb_to_hsv(tf.constant([[[0.5, 0.25, 0.125], [0.125, 0.75, 0.{n:1,9}]]]))
f = tf.image.hsv_to_rgb({u:2,2,3})
f = tf.image.rgb_to_yuv({u:2,2,3})
f = tf.image.adjust_{?:brightness|contrast|gamma|saturation|hue}({u:2,2,3}, 0.{n:1,9})
f = tf.image.per_image_standardization({f:3,3,A})
f = tf.image.convert_image_dtype({q:2,2,A}, tf.float32)
- = tf.image.convert_image_dtype({q:2,2,A}, tf.float64)
f = tf.image.total_variation({x:1,3,3,A})
f = tf.image.psnr({u:1,4,4,A}, {u:1,4,4,A}, 1.0)
f = tf.image.ssim({u:1,12,12,1}, {u:1,12,12,1}, 1.0) / 1024.0  # variances are differences of sums
f = tf.image.sobel_edges({f:1,4,4,A})
f = tf.image.draw_bounding_boxes(tf.zeros([1, 6, 6, 1]), [[[0.1, 0.2, 0.7, 0.8]]])
i = tf.image.non_max_suppression([[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [2.0, 2.0, 3.0, 3.0]], [0.9, 0.75, 0.{n:1,9}], 3, iou_threshold=0.5)
- = tf.image.decode_png(tf.image.encode_png({q:3,3,{?:1|3|4}}))
- = tf.image.decode_image(tf.image.encode_png({q:2,3,3}))
f = tf.losses.mean_squared_error({f:A,B}, {f:A,B}, weights={?:1.0|0.5|0.0})
f = tf.losses.mean_squared_error({f:A,B}, {f:A,B}, weights={x:A,1}, reduction=tf.losses.Reduction.{?:NONE|SUM|MEAN|SUM_OVER_BATCH_SIZE|SUM_BY_NONZERO_WEIGHTS})
f = tf.losses.absolute_difference({x:A,B}, {x:A,B})
f = tf.losses.huber_loss({x:A,B}, {x:A,B}, delta=0.5)
f = tf.losses.hinge_loss(tf.cast({b:A,B}, tf.float32), {x:A,B})
f = tf.losses.log_loss({u:A,B}, {u:A,B})
f = tf.losses.cosine_distance({f:A,B}, {f:A,B}, axis=1)
f = tf.losses.sigmoid_cross_entropy({b:A,B}, {f:A,B}, label_smoothing={?:0|0.1})
f = tf.losses.softmax_cross_entropy(tf.one_hot({i:A:0,3}, 3), {f:A,3}, label_smoothing={?:0|0.1})
f = tf.losses.sparse_softmax_cross_entropy({i:A:0,3}, {f:A,3})
f = tf.losses.mean_pairwise_squared_error({f:A,B}, {f:A,B})
f = tf.train.{?:exponential_decay|natural_exp_decay|inverse_time_decay}(0.5, {i::0,9}, 4, 0.5, staircase={?:True|False})
f = tf.train.polynomial_decay(0.5, {i::0,9}, 5, 0.01, power=2.0, cycle={?:True|False})
f = tf.train.piecewise_constant({i::0,9}, [2, 5], [0.5, 0.25, 0.125])
f = tf.train.{?:cosine_decay|linear_cosine_decay|cosine_decay_restarts}(0.5, {i::0,9}, 4)
f = tf.cond({b:}, lambda: tf.square({f:A}), lambda: {f:A} + 1.0)
f = tf.cond(tf.reduce_all({b:A}), lambda: tf.exp({t:A}), lambda: tf.zeros([{A}]))
f,i = tf.cond({i:} > {n:-3,3}, lambda: ({f:A,B} * 2.0, 1), lambda: ({f:A,B} - 1.0, 2))
f = tf.case([({b:}, lambda: {f:A}), ({b:}, lambda: {f:A} * 3.0)], default=lambda: tf.zeros([{A}]))
f = tf.case([({b:}, lambda: {f:A})], default=lambda: -{f:A}, exclusive=True)
-,f = tf.while_loop(lambda i, a: i < {n:0,4}, lambda i, a: (i + 1, tf.tanh(a) * {t:A}), [0, {f:A}])
i = tf.while_loop(lambda a: tf.reduce_sum(a) < {n:1,30}, lambda a: [a * 2 + 1], [{i:A:0,4}])
-,f = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.concat([a, {f:1,B}], 0)), [tf.constant(0), {f:2,B}], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, {B}])])
-,f = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.cond(tf.equal(i % 2, 0), lambda: a * 0.5, lambda: tf.sin(a))), [0, {f:A}], parallel_iterations={?:1|10}, back_prop=True)
-,f = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, tf.while_loop(lambda j, b: j < i + 1, lambda j, b: (j + 1, b * {t:}), [0, a])[1]), [0, {f:A}], name="outer@")
f = tf.map_fn(lambda e: tf.reduce_sum(e * {t:B}), {f:A,B})
i = tf.map_fn(lambda e: tf.size(e), {f:A,B}, dtype=tf.int32)
f,f = tf.map_fn(lambda e: (e[0] + e[1], e[0] * 0.5), ({f:A,B}, {f:A,B}), dtype=(tf.float32, tf.float32))
f = tf.scan(lambda a, e: tf.tanh(a + e), {f:A,B})
f = tf.scan(lambda a, e: a * 0.5 + tf.reduce_sum(e), {f:A,B}, initializer=0.25, reverse={?:True|False})
f = tf.foldl(lambda a, e: a * 0.5 + e, {f:A,B})
f = tf.foldr(lambda a, e: a * 0.5 + e, {f:A,B}, initializer=tf.ones([{B}]))
f = tf.TensorArray(tf.float32, 3, clear_after_read={?:True|False}).unstack({f:3,B}).stack()
f = tf.TensorArray(tf.float32, 0, dynamic_size=True, infer_shape={?:True|False}).write(0, {f:B}).write({n:1,3}, {f:B}).read(0)
f = tf.TensorArray(tf.float32, 2, element_shape=[{B}]).write(0, {f:B}).write(1, {f:B}).concat() if {n:0,1} else tf.TensorArray(tf.float32, 3).scatter([2, 0, 1], {f:3,B}).gather([0, {n:0,2}])
f = tf.TensorArray(tf.float32, 2, infer_shape=False).split({f:3,B}, [1, 2]).concat()
f,f = tf.tuple([{f:A}, {f:B}])
f = tf.gradients(tf.reduce_sum(tf.sin(W@)) * {f:}, W@)[0] if [globals().__setitem__("W@", {f})] else None
f = tf.hessians(tf.reduce_sum(tf.sin(H@)), H@)[0] if [globals().__setitem__("H@", {f:A})] else None
f = tf.gradients([tf.square(W@), tf.tanh(W@)], [W@], grad_ys=[{f:A}, None])[0] if [globals().__setitem__("W@", {f:A})] else None
- = {f:A}
f = tf.layers.flatten({f:A,B,C})
f = tf.layers.dense({f:A,B}, {n:1,4}, activation={?:None|tf.nn.relu|tf.nn.tanh}, kernel_initializer=det, name="dense@")
f = tf.layers.dense({f:A,B,C}, 2, use_bias={?:True|False}, kernel_initializer=det, name="dense@")
f = tf.layers.conv2d({f:1,5,5,A}, {n:1,3}, [3, 2], strides={n:1,2}, padding="{?:same|valid}", kernel_initializer=det, name="conv@")
f = tf.layers.conv1d({f:1,6,A}, 2, 3, dilation_rate={n:1,2}, kernel_initializer=det, name="conv@")
f = tf.layers.conv2d_transpose({f:1,3,3,A}, 2, 2, {n:1,2}, padding="{?:same|valid}", kernel_initializer=det, name="conv@")
f = tf.layers.separable_conv2d({f:1,5,5,A}, 2, 2, depthwise_initializer=det, pointwise_initializer=det, name="conv@")
f = tf.layers.{?:max|average}_pooling2d({x:1,5,5,A}, {n:2,3}, {n:1,2}, padding="{?:same|valid}")
f = tf.layers.{?:max|average}_pooling1d({x:1,5,A}, 2, {n:1,2})
f = tf.layers.batch_normalization({f:A,B}, training={?:True|False}, name="bn@")
f = tf.layers.batch_normalization({f:2,3,3,A}, training={?:True|False}, fused={?:True|False}, name="bn@")
f = tf.layers.dropout({f:A,B}, 0.5, training=False)
f,- = tf.nn.dynamic_rnn(tf.nn.rnn_cell.{?:BasicRNNCell|BasicLSTMCell|GRUCell|LSTMCell}({A}), {f:2,3,B}, {?:None|[2, 3]|[0, 1]}, dtype=tf.float32, scope=tf.VariableScope(reuse=None, name="rnn@", initializer=det), time_major=False)
f,- = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(3, use_peepholes={?:True|False}, num_proj={?:None|2}, initializer=det, forget_bias=0.5), {f:3,2,B}, dtype=tf.float32, scope="rnn@", time_major=True)
-,f = tf.nn.static_rnn(tf.nn.rnn_cell.GRUCell({A}, kernel_initializer=det), [{f:2,B}, {f:2,B}], dtype=tf.float32, scope="rnn@")
-,- = tf.nn.bidirectional_dynamic_rnn(tf.nn.rnn_cell.GRUCell(2, kernel_initializer=det), tf.nn.rnn_cell.GRUCell(2, kernel_initializer=det), {f:2,3,B}, [1, {n:1,3}], dtype=tf.float32, scope="rnn@")
f,- = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(2, kernel_initializer=det) for _ in range(2)]), {f:2,3,B}, dtype=tf.float32, scope="rnn@")
- = str(tf.TensorShape([{A}, None]).concatenate([{B}]))
- = stat(tf.random_normal([4000], {n:0,2}, 2.0, seed={n:1,9}))
- = stat(tf.random_uniform([4000], 0, {n:2,9}, dtype=tf.{?:float32|int32|float64}, seed=3))
- = stat(tf.truncated_normal([50, 80], stddev=0.5))
- = stat(tf.random_gamma([4000], {n:1,3}, 2.0))
- = stat(tf.random_poisson({n:1,3}.0, [4000]))
- = stat(tf.multinomial([[0.0, 1.0, -1.0]], 4000))
- = stat(tf.nn.dropout(tf.ones([4000]), rate=0.{n:2,8}))
- = stat(tf.cast(tf.random_shuffle(tf.range({n:50,100})), tf.float32))
- = stat(tf.get_variable("init@", [50, 40], initializer=tf.{?:glorot_uniform_initializer|glorot_normal_initializer|truncated_normal_initializer|random_normal_initializer|random_uniform_initializer|variance_scaling_initializer|initializers.he_normal|initializers.lecun_uniform}()))
x = tf.get_variable("init@", [{A}, {B}], initializer=tf.{?:zeros|ones}_initializer())
- = tf.shape(tf.image.random_brightness(tf.ones([3, {n:1,4}, 3]), 0.5))
- = stat(tf.map_fn(lambda e: tf.image.random_contrast(e, 0.5, 1.5), tf.ones([50, 3, 3, 1])))
- = tf.shape(tf.random_crop({f:5,5,2}, [{n:1,5}, 2, 2]))
- = tf.random.stateless_uniform([3], [{n:1,9}, 2])
- = tf.random.stateless_normal([3], [{n:1,9}, 2])
- = tf.make_ndarray(tf.make_tensor_proto([{n:1,9}, 2], tf.int64)).dtype.name
i = fails(lambda: tf.matmul({f!:2,3}, {f!:2,3}))
i = fails(lambda: tf.reshape({x!:2,3}, [4, 2]))
i = fails(lambda: tf.concat([{x!:2,3}, {x!:2,2}], 0))
i = fails(lambda: tf.constant("a") + 1)
i = fails(lambda: {f!:2,2} + {i!:2,2})
i = fails(lambda: {f!:2,3} + {f!:2,2})
i = fails(lambda: tf.constant([[1, 2], [3]]))
i = fails(lambda: tf.constant(1.5, tf.int32))
i = fails(lambda: tf.get_variable("again@", [2]) is tf.get_variable("again@", [2]))
i = fails(lambda: bool({f}))
i = fails(lambda: tf.gather({x!:3}, [0], axis=2))
i = fails(lambda: tf.nn.conv2d({f!:1,4,4,2}, {f!:2,2,3,1}, [1, 1, 1, 1], "SAME"))
i = fails(lambda: tf.cond({b!:2}, lambda: 1, lambda: 2))
i = fails(lambda: tf.cond({b!:}, lambda: 1, lambda: 2.0))
i = fails(lambda: tf.while_loop(lambda a: a < 3, lambda a: [a, a], [0]))
i = fails(lambda: tf.while_loop(lambda i, a: i < 3, lambda i, a: [i + 1, tf.concat([a, a], 0)], [0, {f!:2}]))
i = fails(lambda: tf.split({x!:5}, 2))
i = fails(lambda: tf.stack([{x!:2}, {x!:3}]))
i = fails(lambda: tf.expand_dims({x!:2}, 5))
i = fails(lambda: tf.squeeze({x!:2}, [0]))
i = fails(lambda: tf.get_default_graph().get_tensor_by_name("{?:nowhere:0|nowhere|:}"))
i = fails(lambda: tf.as_dtype("{?:float33|float32}"))
i = fails(lambda: tf.transpose({x!:2,3}, [0, 0, 1]))
i = fails(lambda: tf.TensorShape([2, 3]).assert_is_compatible_with([{n:2,3}, 3]))
i = fails(lambda: tf.TensorShape([2, None]).as_list() + [int(tf.TensorShape(None).ndims)])
i = fails(lambda: tf.one_hot({x!:2}, 3))
i = fails(lambda: {x!:3}[5])
i = fails(lambda: {x!:3}[0, 0])
i = fails(lambda: list(tf.identity({x:A})))
i = fails(lambda: tf.gradients({i!:2}, {i!:2}))
i = fails(lambda: tf.placeholder(tf.float32, [{?:2|-1|None}]))
i = fails(lambda: tf.zeros([2], name="{?:a b|9a|ok}"))
i = fails(lambda: tf.import_graph_def(5))
i = fails(lambda: tf.train.Saver([]))
i = fails(lambda: tf.losses.mean_squared_error({f!:2,3}, {f!:3,2}))
i = fails(lambda: tf.convert_to_tensor(None))
i = fails(lambda: tf.convert_to_tensor({f}, tf.int32))
i = fails(lambda: tf.nn.top_k({x!:2}, 5))
i = fails(lambda: tf.Variable(lambda: 3.0, expected_shape=[2]))
i = fails(lambda: tf.assign(tf.Variable([1.0, 2.0], name="as@"), [1.0]))
i = fails(lambda: tf.segment_sum({x!:3}, {i!:2}))
"""

PIECES = """
w@ = tf.get_variable("opt@", [{A}], initializer=det)
train@ = tf.train.{?:GradientDescentOptimizer(0.1)|MomentumOptimizer(0.1, 0.9)|MomentumOptimizer(0.1, 0.9, use_nesterov=True)|AdamOptimizer(0.1)|AdagradOptimizer(0.1)|RMSPropOptimizer(0.1, momentum=0.5)|RMSPropOptimizer(0.1, centered=True)|AdadeltaOptimizer(0.5)|FtrlOptimizer(0.1, l1_regularization_strength=0.01)|ProximalGradientDescentOptimizer(0.1)|ProximalAdagradOptimizer(0.1)|AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step())}.minimize(tf.reduce_sum(tf.square(w@ - {t!:A})), global_step=tf.train.get_or_create_global_step())
steps += [train@, train@, w@, tf.train.get_global_step(), [v for v in tf.global_variables() if "opt@" in v.name]]

e@ = tf.get_variable("emb@", [5, {A}], initializer=det)
train@ = tf.train.{?:GradientDescentOptimizer(0.1)|MomentumOptimizer(0.1, 0.9)|AdamOptimizer(0.1)|AdagradOptimizer(0.1)|RMSPropOptimizer(0.1)|AdadeltaOptimizer(0.5)|FtrlOptimizer(0.1)}.minimize(tf.reduce_sum(tf.square(tf.nn.embedding_lookup(e@, {i!:3:0,5}) - {t!:3,A})))
steps += [train@, train@, e@]

v@ = tf.Variable({f!:A,B}, {?:|dtype=tf.float32}, name="var@")
steps += [v@.assign_{?:add|sub}({f!:A,B}), tf.assign(v@, v@ * 0.5), v@, v@.initialized_value(), v@.op.name, str(v@.shape)]

v@ = tf.get_variable("scatter@", [4, {A}], initializer=det, use_resource={?:True|False})
steps += [tf.scatter_{?:add|sub|update}(v@, [0, {n:1,3}], {x!:2,A}), v@, tf.gather(v@, [1, 3])]

v@ = tf.get_variable("nd@", [4, {A}], initializer=det)
steps += [tf.scatter_nd_{?:add|sub|update}(v@, [[0], [{n:1,3}]], {x!:2,A}), v@]

with tf.variable_scope("scope@", initializer=det) as s@:
    a@ = tf.get_variable("a", [{A}])
    s@.reuse_variables()
    b@ = tf.get_variable("a", [{A}])
steps += [a@, str(a@ is b@), a@.name, (a@ + 1).name]

with tf.variable_scope("outer@"), tf.variable_scope("inner", reuse=tf.AUTO_REUSE):
    a@ = tf.get_variable("a", [{A}], initializer=det, trainable={?:True|False})
    b@ = tf.nn.relu(a@, name="r")
steps += [a@.name, b@.name, [v.name for v in tf.trainable_variables()]]

p@ = tf.get_variable("parts@", [4, {A}], initializer=det, partitioner=tf.fixed_size_partitioner({n:1,3}))
steps += [tf.convert_to_tensor(p@), tf.nn.embedding_lookup(p@, {i!:3:0,4}, partition_strategy="div"), [v.name for v in tf.global_variables() if "parts@" in v.name]]

q@ = tf.FIFOQueue({n:3,5}, [tf.float32, tf.int32], shapes=[[{A}], []])
steps += [q@.enqueue(({x!:A}, {n:1,9})), q@.enqueue_many(({x!:2,A}, [1, {n:1,9}])), q@.size(), q@.dequeue(), q@.dequeue_many(2), q@.close(), q@.dequeue(), q@.enqueue(({x!:A}, 1))]

q@ = tf.PaddingFIFOQueue(5, tf.float32, shapes=[[None]])
steps += [q@.enqueue([{x!:A}]), q@.enqueue([{x!:B}]), q@.dequeue_many(2), q@.close(), q@.dequeue_up_to(2)]

q@ = tf.PriorityQueue(5, [tf.string], shapes=[[]])
steps += [q@.enqueue(({n:1,9}, "a")), q@.enqueue((10, "b")), q@.enqueue((0, "c")), q@.dequeue(), q@.size(), q@.dequeue_many(2)]

q@ = tf.RandomShuffleQueue(5, 0, tf.int32, shapes=[[]], seed=1)
steps += [q@.enqueue_many([[{n:1,9}, {n:1,9}, 3]]), tf.reduce_sum(q@.dequeue_many(3)), q@.size()]

d@ = tf.data.Dataset.range({n:3,12}).map(lambda v: v * {n:1,4}).filter(lambda v: tf.not_equal(v % 3, 1)).batch({n:1,4}, drop_remainder={?:True|False})
n@ = tf.data.make_one_shot_iterator(d@).get_next()
steps += [n@] * {n:3,6}

d@ = tf.data.Dataset.from_tensor_slices(({x!:4,A}, ["a", "b", "c", "d"])).{?:repeat(2)|take(3)|skip(1)|cache()|shard(2, 1)|prefetch(1)}
d@ = d@.map(lambda v, s: {"v": v * 2.0, "s": tf.string_join([s, "x"])}, num_parallel_calls={?:None|2}).batch({n:1,3})
it@ = tf.data.make_initializable_iterator(d@)
n@ = it@.get_next()
steps += [it@.initializer, n@, n@, n@, it@.initializer, n@]

d@ = tf.data.Dataset.range(4).flat_map(lambda v: tf.data.Dataset.from_tensors(v).repeat({n:1,3}))
n@ = tf.data.make_one_shot_iterator(d@.batch(20)).get_next()
steps += [n@, n@]

d@ = tf.data.Dataset.range({n:2,6}).interleave(lambda v: tf.data.Dataset.range(v, v + 2), cycle_length={n:1,3}, block_length={n:1,2})
n@ = tf.data.make_one_shot_iterator(d@.batch(30)).get_next()
steps += [n@, n@]

d@ = tf.data.Dataset.from_tensor_slices([1, {n:1,4}, 2, 3]).map(lambda n: tf.fill([n], n)).padded_batch({n:1,4}, padded_shapes=[{?:None|5}], padding_values={?:None|-1})
n@ = tf.data.make_one_shot_iterator(d@).get_next()
steps += [n@, n@, n@, n@, n@]

d@ = tf.data.Dataset.zip((tf.data.Dataset.range({n:2,4}), tf.data.Dataset.from_tensor_slices({x!:4}))).concatenate(tf.data.Dataset.from_tensors((np.int64({n:1,9}), np.float32(2))))
n@ = tf.data.make_one_shot_iterator(d@).get_next()
steps += [n@] * 5 + [str(tf.data.get_output_shapes(d@)), str(tf.data.get_output_types(d@))]

d@ = tf.data.Dataset.range({n:4,9}).window(3, shift={n:1,3}, drop_remainder={?:True|False}).flat_map(lambda w: w.batch(3))
n@ = tf.data.make_one_shot_iterator(d@).get_next()
steps += [n@] * 4

d@ = tf.data.Dataset.range(6).apply(tf.data.experimental.{?:enumerate_dataset()|scan(np.int64(1), lambda s, v: (s + v, s * v))|enumerate_dataset()|ignore_errors()|take_while(lambda v: v < 3)|group_by_window(lambda v: v % 2, lambda k, w: w.batch(5), 5)|map_and_batch(lambda v: v + 1, 4)|unique()})
n@ = tf.data.make_one_shot_iterator(d@).get_next()
steps += [n@] * 7 + [tf.data.Dataset.range({n:1,6}).reduce(np.int64(0), lambda a, b: a + b)]

d@ = tf.data.Dataset.range(30).shuffle({n:2,40}, seed=3).batch(30)
steps += [tf.sort(tf.data.make_one_shot_iterator(d@).get_next())]

m@ = tf.metrics.{?:mean({x!:A})|mean({x!:A}, weights={p!:A})|accuracy({i!:4:0,3}, {i!:4:0,3})|precision({b!:4}, {b!:4})|recall({b!:4}, {b!:4})|mean_squared_error({x!:A}, {x!:A})|mean_absolute_error({x!:A}, {x!:A})|root_mean_squared_error({x!:A}, {x!:A})|true_positives({b!:4}, {b!:4})|false_negatives({b!:4}, {b!:4})|mean_iou({i!:4:0,3}, {i!:4:0,3}, 3)|mean_per_class_accuracy({i!:4:0,3}, {i!:4:0,3}, 3)|auc({b!:4}, {u!:4}, num_thresholds=20)|percentage_below({x!:4}, 0.5)|mean_tensor({x!:A})|mean_relative_error({x!:A}, {x!:A}, {p!:A})|sensitivity_at_specificity({b!:4}, {u!:4}, 0.5)|precision_at_k({l!:2,1:0,4}, {x!:2,4}, 2)|recall_at_k({l!:2,1:0,4}, {x!:2,4}, 2)|average_precision_at_k({l!:2,1:0,4}, {x!:2,4}, 2)}
steps += [m@[1], m@[1], m@[0]]

h@ = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b", "c"], tf.constant([{n:1,9}, 2, 3], tf.int64)), {n:-1,0})
steps += [tf.tables_initializer(), h@.lookup(tf.constant(["b", "x", "a"])), h@.size()]

h@ = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, 0.5, -1, -2)
steps += [h@.insert({l!:3:0,5}[:1], [{n:1,9}.0]), h@.size(), h@.lookup(tf.constant([1, 2], tf.int64))]

a@ = tf.placeholder_with_default({x!:A}, [None])
steps += [a@, a@ * 2.0, str(a@.shape)]

c@ = tf.get_variable("count@", [], tf.int32, initializer=tf.zeros_initializer())
with tf.control_dependencies([c@.assign_add({n:1,5})]):
    r@ = tf.identity(c@.read_value()) if hasattr(c@, "read_value") else tf.identity(c@)
steps += [r@, r@, tf.group(r@), c@, tf.count_up_to(c@, {n:10,40})]

t@ = tf.make_template("template@", lambda x: tf.layers.dense(x, 2, kernel_initializer=det, name="d"))
steps += [t@({f!:2,A}), t@({f!:3,A}), [v.name for v in tf.global_variables() if "template@" in v.name]]

s@ = [tf.summary.scalar("loss@", tf.constant({n:1,9} / 8)), tf.summary.histogram("hist@", {x!:A,B}), tf.summary.text("text@", tf.constant("hello"))]
steps += [tf.summary.merge(s@[:1]), [s.name for s in s@]]

g@ = tf.Graph()
with g@.as_default():
    x@ = tf.placeholder(tf.float32, [None, 2], name="x")
    y@ = tf.reduce_sum(tf.square(x@), {n:0,1}, name="y")
i@ = tf.import_graph_def(g@.as_graph_def(), input_map={"x:0": {f!:3,2}}, return_elements=["y:0"], name="imported@")
steps += [i@, i@[0].name]

e@ = tf.train.ExponentialMovingAverage(0.9{?:|, num_updates=3|, zero_debias=True})
w@ = tf.get_variable("ema@", [{A}], initializer=det)
steps += [e@.apply([w@]), w@.assign_add({x!:A}), w@, e@.average(w@), e@.average_name(w@)]

a@ = tf.ConditionalAccumulator(tf.float32, [{A}])
steps += [a@.apply_grad({x!:A}, 0), a@.apply_grad({x!:A}, 0), a@.num_accumulated(), a@.take_grad(2), a@.set_global_step(3), a@.apply_grad({x!:A}, 1), a@.num_accumulated()]

@tf.custom_gradient
def custom@(x):
    return tf.square(x), lambda dy: dy * {n:2,5}.0
x@ = {f:A}
y@ = custom@(x@)
steps += [y@, tf.gradients(y@, x@)]

r@ = tf.ragged.constant([[1, {n:1,9}], [], [3]])
steps += [r@, tf.reduce_sum(r@, axis=1), r@.to_tensor(default_value={n:0,2}), r@.row_lengths(), tf.concat([r@, r@], axis={n:0,1}).to_tensor(), (r@ * 2).values, tf.ragged.map_flat_values(tf.square, r@).flat_values, tf.gather(r@, [2, 0]).to_tensor()]

steps += [tf.reshape({x!:A,B}, tf.stack([-1, tf.size({x!:A,B})])), tf.gather({x!:3}, tf.constant([{n:0,5}])), tf.reshape({x:A,B}, tf.placeholder_with_default([5, 5], [2])), tf.matmul(tf.placeholder_with_default({f!:A,2}, None), tf.placeholder_with_default({f!:3,A}, None))]

steps += [tf.Assert(tf.placeholder_with_default({b!:}, []), ["message"]), tf.check_numerics(tf.log(tf.placeholder_with_default({x!:A}, [None])), "bad")]

o@ = [tf.assert_{?:equal|less|greater|less_equal|greater_equal|none_equal}(tf.placeholder_with_default({i!:A}, [None]), tf.placeholder_with_default({i!:A}, [None])), tf.assert_{?:positive|negative|non_negative|non_positive}(tf.placeholder_with_default({i!:A}, [None])), tf.assert_rank(tf.placeholder_with_default({i!:A}, None), {n:1,2})]
steps += o@

steps += [tf.string_to_number(tf.constant(["1", "{?:x|2}"])), tf.decode_base64("{?:a*|YWJj}"), tf.substr(["abc"], {n:1,6}, 2), tf.decode_raw("{?:abc|abcd}", tf.int32), tf.matrix_inverse(tf.zeros([2, 2])), tf.strings.regex_replace(["a"], "{?:(|a}", "b"), tf.decode_csv(["a,b"], [["x"]]), tf.parse_tensor("junk", tf.float32), tf.image.decode_png("junk"), tf.dynamic_partition([1.0, 2.0], tf.placeholder_with_default([0, 5], [2]), 2), tf.scatter_nd([[7]], [1.0], [3])]

u@ = tf.get_variable("never@", [2], collections=[])
steps += [u@, tf.is_variable_initialized(u@)]

ph@ = tf.placeholder(tf.float32, [2, None])
steps += [ph@]

with tf.device("/cpu:0"), tf.name_scope("ns@") as ns@:
    a@ = tf.identity({f!:A}, name="a")
    with tf.name_scope(None):
        b@ = tf.identity(a@, name="free@")
    with tf.name_scope(ns@):
        c@ = tf.add(a@, b@, name="a")
steps += [c@, a@.name, b@.name, c@.name, a@.op.type, a@.device, str(a@), str(a@.op.node_def.attr["T"].type), [i.name for i in c@.op.inputs]]

beam@ = tf.nn.ctc_beam_search_decoder({t!:4,1,3}, [4], beam_width=4, top_paths=1)
steps += [beam@[0][0]]

z@ = tf.py_func(lambda a, b: (a * 2 + b).astype(np.float32), [{x!:A}, {x!:A}], tf.float32)  # LOCAL
steps += [z@, str(z@.shape)]

"""


def _rows():
    rows = []
    for kind, names in DOMAINS.items():
        result = "x" if kind == "x" else "f"
        rows += [f"{result} = {name}({{{kind}}})" for name in names.split()]
    for kinds, names in BINARY.items():
        a, b = kinds.split()
        result = "x" if a == "x" else "f"
        rows += [
            f"{result} = {name}({{{a}:$}}, {{{b}:$b}})" for name in names.split()
        ]
    rows += [f"b = {name}({{{k}:$}}, {{{k}:$b}})" for name in COMPARED.split() for k in "xi"]
    for name in REDUCED.split():
        kind = "x" if name.endswith(("max", "min")) else "f"
        rows.append(f"f = {name}({{{kind}:A,B,C}}, {{?:None|0|1|-1|[0, 2]}}, keepdims={{?:True|False}})")
        if "_m" in name or "sum" in name:
            rows.append(f"f = {name}({{{kind}}})")
    rows += [line for line in LINES.splitlines() if line]
    return rows + re.split(r"\n\s*\n", PIECES.strip("\n"))


ROWS = _rows()
HOLE = re.compile(r"\{([a-z?]!?|[A-E])(?::([^{}:]*(?:\{[^{}]*\}[^{}:]*)*))?(?::([^{}]*))?\}")
FLOATS = "fxput"
NUMPY = {"d": "float64", "h": "float16", "i": "int32", "l": "int64", "q": "uint8", "b": "bool", "c": "complex64"}
WORDS = ["", "a", "ab", "hello world", "Abc", "x1 y2", "aeb cab", "7"]


class Writer:
    """Writes the pieces of one program."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.pool = []  # (name, kind, exact)
        self.pieces = []
        self.count = 0

    def shape(self, least=0):
        return [self.random.randint(1, 4) for _ in range(self.random.randint(least, 3))]

    def numbers(self, kind, shape, bounds):
        count = 1
        for size in shape:
            count *= size
        r = self.random
        if kind == "s":
            return [r.choice(WORDS) for _ in range(count)]
        if kind == "b":
            return [r.random() < 0.5 for _ in range(count)]
        if kind in "ilq":
            low, high = (int(b) for b in bounds.split(",")) if bounds else ((0, 255) if kind == "q" else (-5, 6))
            return [r.randrange(low, high) for _ in range(count)]
        if kind == "p":
            return [r.randint(1, 16) / 4 for _ in range(count)]
        if kind == "u":
            return [r.randint(1, 15) / 16 for _ in range(count)]
        if kind == "t":
            return [r.randint(-15, 15) / 16 for _ in range(count)]
        if kind == "c":
            return [complex(r.randint(-8, 8) / 4, r.randint(-8, 8) / 4) for _ in range(count)]
        return [r.randint(-12, 12) / 4 for _ in range(count)]

    def new(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def leaf(self, kind, shape, bounds=None, static=False):
        """A constant, placeholder or variable of some numbers; its name."""
        name = self.new("v")
        numbers = self.numbers(kind, shape, bounds)
        if kind == "s":
            array = f"np.array({numbers!r}, object).reshape({shape})"
            dtype = "string"
        else:
            dtype = NUMPY.get(kind, "float32")
            array = f"np.array({numbers!r}, np.{dtype if dtype != 'bool' else 'bool_'}).reshape({shape})"
        how = self.random.random()
        if how < 0.45 or kind in "s" and how < 0.7:
            text = f"{name} = tf.constant({array}, tf.{dtype})"
        elif how < 0.75:
            hidden = list(shape)
            if not static:
                hidden = [None if self.random.random() < 0.3 else size for size in shape]
            if not static and self.random.random() < 0.05:
                hidden = None
            text = f"{name} = tf.placeholder(tf.{dtype}, {hidden})\nfeeds[{name}] = {array}"
        elif how < 0.9 and kind not in "sqhb":
            resource = self.random.choice(["", ", use_resource=True"])
            text = f'{name} = tf.get_variable("leaf{self.count}", initializer=tf.constant({array}, tf.{dtype}){resource})'
        else:
            text = f"{name} = tf.convert_to_tensor({array})"
            if kind == "s":
                text = f"{name} = tf.constant({array})"
        self.pieces.append(text)
        self.pieces.append(f'keep("{name}", {name})')
        if kind in FLOATS:
            self.pool.append((name, "f", True))
            self.leaves.append(name)
        else:
            self.pool.append((name, kind, True))
        return name

    leaves = None

    def argument(self, kind, shape, bounds, static):
        """Text of an argument."""
        base = "f" if kind in FLOATS else kind
        if kind in "ilq" and bounds or kind in "hq":
            return self.leaf(kind, self.shape() if shape is None else shape, bounds, static)
        known = [(n, e) for n, k, e in self.pool if k == base and (kind != "x" or e)]
        if not known or self.random.random() < 0.35:
            name, exact = self.leaf(kind, self.shape() if shape is None else shape, bounds, static), True
            self.exact &= exact
            return name
        name, exact = self.random.choice(known[-12:] if self.random.random() < 0.7 else known)
        self.exact &= exact
        text = name
        if kind == "f":
            text = f"bounded({name})" if self.random.random() < 0.4 else name
            self.exact &= text == name
        elif kind == "x":
            text = f"tf.clip_by_value({name}, -16.0, 16.0)"
        elif kind in "dc":
            text = f"bounded({name})"
        elif kind in "il":
            text = f"small({name})"
        if shape is not None:
            text = f"fit({text}, {shape})"
        if kind == "p":
            self.exact = False
            return f"(tf.abs(bounded({text})) + 0.5)"
        if kind == "u":
            self.exact = False
            return f"tf.sigmoid(tf.tanh({text}))"
        if kind == "t":
            self.exact = False
            return f"(tf.tanh({text}) * 0.75)"
        return text

    def fill(self, row):
        sizes, shapes = {}, {}
        self.exact = True
        self.row_number = self.new("")

        def size(word):
            word = word.strip()
            if word.isdigit():
                return int(word)
            return sizes.setdefault(word, self.random.randint(1, 4))

        def hole(found):
            kind, first, second = found.groups()
            if kind == "?":
                return self.random.choice(first.split("|") if second is None else f"{first}:{second}".split("|"))
            if kind == "n":
                low, high = first.split(",")
                return str(self.random.randint(int(low), int(high)))
            if kind in "ABCDE":
                return str(size(kind))
            static, kind = kind.endswith("!"), kind[0]
            if first is None:
                shape = None
            elif first in ("$", "$b"):
                whole = shapes.setdefault("$", self.shape())
                shape = whole
                if first == "$b":
                    shape = [1 if self.random.random() < 0.25 else s for s in whole]
                    shape = shape[self.random.randint(0, len(shape)) :] if self.random.random() < 0.3 else shape
            else:
                shape = [size(word) for word in first.split(",") if word]
            return self.argument(kind, shape, second, static)

        while True:  # the words of a choice may have holes of their own: inner ones first
            filled = re.sub(r"\{\?:((?:[^{}]|\{[^{}]*\})*)\}", self.choose, row)
            if filled == row:
                break
            row = filled
        return HOLE.sub(hole, row).replace("@", self.row_number)

    def choose(self, found):
        depth, words, word = 0, [], ""
        for c in found.group(1):
            depth += (c == "{") - (c == "}")
            if c == "|" and depth == 0:
                words.append(word)
                word = ""
            else:
                word += c
        return self.random.choice([*words, word])

    def add(self, row):
        kinds, equals, text = row.partition(" = ")
        if not (equals and re.fullmatch(r"[fxilbsdc-](,[fxilbsdc-])*", kinds)):
            text = self.fill(row)
            self.pieces.append(text)
            return
        text = self.fill(text)
        names = [self.new("v") for _ in kinds.split(",")]
        text = f"{', '.join(names)} = {text}"
        if self.random.random() < 0.1:
            text = f'with tf.name_scope("scope{self.random.randint(1, 3)}"):\n    {text}'
        self.pieces.append(text)
        for name, kind in zip(names, kinds.split(",")):
            self.pieces.append(f'keep("{name}", {name})')
            if kind != "-":
                self.pool.append((name, "f" if kind == "x" else kind, kind not in "f" and self.exact))

    def gradients(self):
        """Derivatives of some results by the leaves."""
        results = [n for n, k, _ in self.pool if k == "f" and n not in self.leaves]
        for y in self.random.sample(results, min(3, len(results))):
            xs = self.random.sample(self.leaves, min(4, len(self.leaves)))
            name = self.new("v")
            self.pieces.append(f"{name} = tf.gradients({y}, [{', '.join(xs)}])")
            self.pieces.append(f'keep("{name}", {name})')


def program(seed, rows=30):
    """The pieces of the program of a seed: texts of Python."""
    writer = Writer(seed)
    writer.leaves = []
    order = random.Random(seed // 20)  # programs of neighbouring seeds share the rows out among themselves
    shuffled = order.sample(range(len(ROWS)), len(ROWS))
    start = seed % 20 * rows
    chosen = [ROWS[shuffled[(start + i) % len(ROWS)]] for i in range(rows)]
    writer.random.shuffle(chosen)
    for row in chosen:
        writer.add(row)
    writer.gradients()
    return writer.pieces


if __name__ == "__main__":
    print("\n".join(program(int(sys.argv[1]))))
