"""The nodes of gradients: names, ops, edges and number are those of TensorFlow 1.15."""

import unittest
import zlib

import support  # noqa: F401, before the others: where the package is
import braid.tensorflow as tf


def broadcast():
    x, b = tf.placeholder(tf.float32, [2, 3]), tf.placeholder(tf.float32, [3])
    tf.gradients((x + b) * x - b, [x, b])


def unknown():
    x, b = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [3])
    tf.gradients(tf.reduce_mean(tf.square(x * b)), [b])


def network():
    x, y = tf.placeholder(tf.float32, [4, 6, 6, 1]), tf.placeholder(tf.float32, [4, 2])
    k, w = tf.get_variable("k", [3, 3, 1, 2]), tf.get_variable("w", [32, 2])
    h = tf.reshape(tf.nn.relu(tf.nn.conv2d(x, k, 1, "VALID")), [4, -1])
    losses = tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=tf.matmul(h, w))
    tf.train.GradientDescentOptimizer(0.1).compute_gradients(tf.reduce_sum(losses, 0))


def given():
    x = tf.placeholder(tf.float32, [2])
    tf.gradients([x * 2.0, tf.exp(x)], x, grad_ys=[None, [1.0, 2.0]])


def conditional():
    """A branch uses a variable that the other does not; gradients wait for another node."""
    x, p = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.bool, [])
    w, before = tf.placeholder(tf.float32, [2]), tf.identity(x, name="before")
    y = tf.cond(p, lambda: x * w, lambda: tf.concat([x, x], 0))
    with tf.control_dependencies([before]):
        tf.gradients(y, [x, w], gate_gradients=True)


def loop():
    x = tf.placeholder(tf.float32, [2])

    def body(i, r, s):
        return i + 1, tf.cond(i > 1, lambda: r * x, lambda: tf.exp(r)), s * 2.0

    tf.gradients(tf.while_loop(lambda i, *_: i < 3, body, (0, x, x))[1], x)


def nested_loops():
    x = tf.placeholder(tf.float32, [None])

    def body(i, r):
        return i + 1, tf.while_loop(lambda j, q: j < 2, lambda j, q: (j + 1, q * x * r), (0, r))[1]

    tf.gradients(tf.while_loop(lambda i, r: i < 3, body, (0, x))[1], x)


def recurrent():
    x = tf.placeholder(tf.float32, [None, 5, 6])
    output, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(4), x, dtype=tf.float32)
    tf.train.GradientDescentOptimizer(0.1).compute_gradients(tf.reduce_sum(output))


def unconnected():
    x, y = tf.placeholder(tf.float32, [None, 2, 3]), tf.placeholder(tf.float32, [3])
    product = tf.tensordot(x, tf.ones([3, 4]), [[2], [0]])
    tf.gradients(product, [x, y], unconnected_gradients="zero")


def within_a_branch():
    """A train op in a branch of a conditional, and a gradient through what comes into the branch."""
    x, p = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.bool, [])
    w = tf.get_variable("w", [2, 1])
    loss, optimizer = tf.reduce_mean(tf.matmul(x, w)), tf.train.GradientDescentOptimizer(0.1)
    tf.cond(p, lambda: tf.group(optimizer.minimize(loss)), tf.no_op)
    tf.cond(p, lambda: tf.gradients(x * x * 2.0, x)[0], lambda: x)


def hessians():
    x = tf.placeholder(tf.float32, [3])
    tf.hessians(tf.reduce_sum(x * x * x), x)


def looked_up():
    """Rows of embeddings in a loop, in both branches and in one branch of a conditional."""
    e, v = tf.get_variable("e", [7, 2]), tf.get_variable("v", [7, 2], use_resource=True)
    ids, p = tf.placeholder(tf.int64, [None, None]), tf.placeholder(tf.bool, [])

    def branches(i):
        return tf.cond(i[0] > 2, lambda: tf.gather(e, i), lambda: tf.gather(e, i + 1))

    y = tf.map_fn(lambda i: tf.gather(v, i) * branches(i), ids, dtype=tf.float32)
    z = tf.cond(p, lambda: tf.gather(v, ids[0]), lambda: tf.zeros([3, 2]))
    tf.gradients(tf.gather(tf.cond(p, lambda: e, lambda: tf.zeros([7, 2])), ids[0]), e)
    tf.gradients([y, z], [e, v])


def adam_of_rows():
    e = tf.get_variable("e", [7, 2])
    tf.train.AdamOptimizer().minimize(tf.reduce_sum(tf.gather(e, tf.placeholder(tf.int64, [None]))))


def loops_in_branches():
    """Of a loop in two branches, of one with a conditional in it, and of a loop within it."""

    def loop(n, body, first):
        return tf.while_loop(lambda i, r: i < n, lambda i, r: (i + 1, body(r)), [0, first])[1]

    x, p, q = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])

    def chosen(r):
        return tf.cond(r[0] > 1.0, lambda: r * x, lambda: tf.exp(r))

    def inner():
        return tf.cond(q, lambda: loop(3, lambda r: r * x, x), lambda: x * x)

    tf.gradients(tf.cond(p, inner, lambda: loop(2, chosen, x)), x)
    tf.gradients(tf.cond(p, lambda: loop(3, lambda r: loop(2, lambda k: k * x * r, r), x), lambda: x), x)


# For each of them: how many nodes the graph has then, the seed that the next random op gets, and the nodes of
# the gradients, without "gradients/".
NODES = {
    broadcast: (
        24,
        27,
        """
        Shape = Const()
        grad_ys_0 = Const()
        Fill = Fill(Shape, grad_ys_0)
        sub_grad/BroadcastGradientArgs/s0 = Const()
        sub_grad/BroadcastGradientArgs/s1 = Const()
        sub_grad/BroadcastGradientArgs = BroadcastGradientArgs(
            sub_grad/BroadcastGradientArgs/s0,
            sub_grad/BroadcastGradientArgs/s1)
        sub_grad/Neg = Neg(Fill)
        sub_grad/Sum/reduction_indices = Const()
        sub_grad/Sum = Sum(sub_grad/Neg, sub_grad/Sum/reduction_indices)
        sub_grad/Reshape/shape = Const()
        sub_grad/Reshape = Reshape(sub_grad/Sum, sub_grad/Reshape/shape)
        mul_grad/Mul = Mul(Fill, Placeholder)
        mul_grad/Mul_1 = Mul(Fill, add)
        add_grad/Sum/reduction_indices = Const()
        add_grad/Sum = Sum(mul_grad/Mul, add_grad/Sum/reduction_indices)
        add_grad/Reshape/shape = Const()
        add_grad/Reshape = Reshape(add_grad/Sum, add_grad/Reshape/shape)
        AddN = AddN(mul_grad/Mul_1, mul_grad/Mul)
        AddN_1 = AddN(sub_grad/Reshape, add_grad/Reshape)
        """,
    ),
    unknown: (
        36,
        39,
        """
        Shape = Const()
        grad_ys_0 = Const()
        Fill = Fill(Shape, grad_ys_0)
        Mean_grad/Reshape/shape = Const()
        Mean_grad/Reshape = Reshape(Fill, Mean_grad/Reshape/shape)
        Mean_grad/Shape = Shape(Square)
        Mean_grad/Tile = Tile(Mean_grad/Reshape, Mean_grad/Shape)
        Mean_grad/Shape_1 = Shape(Square)
        Mean_grad/Shape_2 = Const()
        Mean_grad/Const = Const()
        Mean_grad/Prod = Prod(Mean_grad/Shape_1, Mean_grad/Const)
        Mean_grad/Const_1 = Const()
        Mean_grad/Prod_1 = Prod(Mean_grad/Shape_2, Mean_grad/Const_1)
        Mean_grad/Maximum/y = Const()
        Mean_grad/Maximum = Maximum(Mean_grad/Prod_1, Mean_grad/Maximum/y)
        Mean_grad/floordiv = FloorDiv(Mean_grad/Prod, Mean_grad/Maximum)
        Mean_grad/Cast = Cast(Mean_grad/floordiv)
        Mean_grad/truediv = RealDiv(Mean_grad/Tile, Mean_grad/Cast)
        Square_grad/Const = Const(^Mean_grad/truediv)
        Square_grad/Mul = Mul(mul, Square_grad/Const)
        Square_grad/Mul_1 = Mul(Mean_grad/truediv, Square_grad/Mul)
        mul_grad/Shape = Shape(Placeholder)
        mul_grad/Shape_1 = Shape(Placeholder_1)
        mul_grad/BroadcastGradientArgs = BroadcastGradientArgs(mul_grad/Shape, mul_grad/Shape_1)
        mul_grad/Mul = Mul(Square_grad/Mul_1, Placeholder_1)
        mul_grad/Sum = Sum(mul_grad/Mul, mul_grad/BroadcastGradientArgs)
        mul_grad/Reshape = Reshape(mul_grad/Sum, mul_grad/Shape)
        mul_grad/Mul_1 = Mul(Placeholder, Square_grad/Mul_1)
        mul_grad/Sum_1 = Sum(mul_grad/Mul_1, mul_grad/BroadcastGradientArgs:1)
        mul_grad/Reshape_1 = Reshape(mul_grad/Sum_1, mul_grad/Shape_1)
        """,
    ),
    network: (
        114,
        117,
        """
        Shape = Const()
        grad_ys_0 = Const()
        Fill = Fill(Shape, grad_ys_0)
        Sum_grad/Cast/x = Const()
        Sum_grad/Cast_1/x = Const()
        Sum_grad/Size = Const()
        Sum_grad/add = AddV2(Sum_grad/Cast_1/x, Sum_grad/Size)
        Sum_grad/mod = FloorMod(Sum_grad/add, Sum_grad/Size)
        Sum_grad/Shape = Const()
        Sum_grad/range/start = Const()
        Sum_grad/range/delta = Const()
        Sum_grad/range = Range(Sum_grad/range/start, Sum_grad/Size, Sum_grad/range/delta)
        Sum_grad/Fill/value = Const()
        Sum_grad/Fill = Fill(Sum_grad/Shape, Sum_grad/Fill/value)
        Sum_grad/DynamicStitch = DynamicStitch(Sum_grad/range, Sum_grad/mod, Sum_grad/Cast/x, Sum_grad/Fill)
        Sum_grad/Maximum/x = Const()
        Sum_grad/Maximum/y = Const()
        Sum_grad/Maximum = Maximum(Sum_grad/Maximum/x, Sum_grad/Maximum/y)
        Sum_grad/floordiv/x = Const()
        Sum_grad/floordiv = FloorDiv(Sum_grad/floordiv/x, Sum_grad/Maximum)
        Sum_grad/Reshape/shape = Const()
        Sum_grad/Reshape = Reshape(Fill, Sum_grad/Reshape/shape)
        Sum_grad/Tile/multiples = Const()
        Sum_grad/Tile = Tile(Sum_grad/Reshape, Sum_grad/Tile/multiples)
        softmax_cross_entropy_with_logits/Reshape_2_grad/Shape = Const()
        softmax_cross_entropy_with_logits/Reshape_2_grad/Reshape = Reshape(
            Sum_grad/Tile,
            softmax_cross_entropy_with_logits/Reshape_2_grad/Shape)
        zeros_like = ZerosLike(softmax_cross_entropy_with_logits:1)
        softmax_cross_entropy_with_logits_grad/ExpandDims/dim = Const()
        softmax_cross_entropy_with_logits_grad/ExpandDims = ExpandDims(
            softmax_cross_entropy_with_logits/Reshape_2_grad/Reshape,
            softmax_cross_entropy_with_logits_grad/ExpandDims/dim)
        softmax_cross_entropy_with_logits_grad/mul = Mul(
            softmax_cross_entropy_with_logits_grad/ExpandDims,
            softmax_cross_entropy_with_logits:1)
        softmax_cross_entropy_with_logits_grad/LogSoftmax = LogSoftmax(
            softmax_cross_entropy_with_logits/Reshape)
        softmax_cross_entropy_with_logits_grad/Neg = Neg(softmax_cross_entropy_with_logits_grad/LogSoftmax)
        softmax_cross_entropy_with_logits_grad/ExpandDims_1/dim = Const()
        softmax_cross_entropy_with_logits_grad/ExpandDims_1 = ExpandDims(
            softmax_cross_entropy_with_logits/Reshape_2_grad/Reshape,
            softmax_cross_entropy_with_logits_grad/ExpandDims_1/dim)
        softmax_cross_entropy_with_logits_grad/mul_1 = Mul(
            softmax_cross_entropy_with_logits_grad/ExpandDims_1,
            softmax_cross_entropy_with_logits_grad/Neg)
        softmax_cross_entropy_with_logits_grad/tuple/group_deps = NoOp(
            ^softmax_cross_entropy_with_logits_grad/mul,
            ^softmax_cross_entropy_with_logits_grad/mul_1)
        softmax_cross_entropy_with_logits_grad/tuple/control_dependency = Identity(
            softmax_cross_entropy_with_logits_grad/mul,
            ^softmax_cross_entropy_with_logits_grad/tuple/group_deps)
        softmax_cross_entropy_with_logits_grad/tuple/control_dependency_1 = Identity(
            softmax_cross_entropy_with_logits_grad/mul_1,
            ^softmax_cross_entropy_with_logits_grad/tuple/group_deps)
        softmax_cross_entropy_with_logits/Reshape_grad/Shape = Const()
        softmax_cross_entropy_with_logits/Reshape_grad/Reshape = Reshape(
            softmax_cross_entropy_with_logits_grad/tuple/control_dependency,
            softmax_cross_entropy_with_logits/Reshape_grad/Shape)
        MatMul_grad/MatMul = MatMul(softmax_cross_entropy_with_logits/Reshape_grad/Reshape, w/read)
        MatMul_grad/MatMul_1 = MatMul(Reshape, softmax_cross_entropy_with_logits/Reshape_grad/Reshape)
        MatMul_grad/tuple/group_deps = NoOp(^MatMul_grad/MatMul, ^MatMul_grad/MatMul_1)
        MatMul_grad/tuple/control_dependency = Identity(MatMul_grad/MatMul, ^MatMul_grad/tuple/group_deps)
        MatMul_grad/tuple/control_dependency_1 = Identity(
            MatMul_grad/MatMul_1,
            ^MatMul_grad/tuple/group_deps)
        Reshape_grad/Shape = Const()
        Reshape_grad/Reshape = Reshape(MatMul_grad/tuple/control_dependency, Reshape_grad/Shape)
        Relu_grad/ReluGrad = ReluGrad(Reshape_grad/Reshape, Relu)
        Conv2D_grad/ShapeN = ShapeN(Placeholder, k/read)
        Conv2D_grad/Conv2DBackpropInput = Conv2DBackpropInput(
            Conv2D_grad/ShapeN,
            k/read,
            Relu_grad/ReluGrad)
        Conv2D_grad/Conv2DBackpropFilter = Conv2DBackpropFilter(
            Placeholder,
            Conv2D_grad/ShapeN:1,
            Relu_grad/ReluGrad)
        Conv2D_grad/tuple/group_deps = NoOp(
            ^Conv2D_grad/Conv2DBackpropFilter,
            ^Conv2D_grad/Conv2DBackpropInput)
        Conv2D_grad/tuple/control_dependency = Identity(
            Conv2D_grad/Conv2DBackpropInput,
            ^Conv2D_grad/tuple/group_deps)
        Conv2D_grad/tuple/control_dependency_1 = Identity(
            Conv2D_grad/Conv2DBackpropFilter,
            ^Conv2D_grad/tuple/group_deps)
        """,
    ),
    given: (
        20,
        23,
        """
        grad_y_1 = Const()
        Shape = Const()
        grad_ys_0 = Const()
        Fill = Fill(Shape, grad_ys_0)
        grad_ys_1 = Identity(grad_y_1)
        mul_grad/BroadcastGradientArgs/s0 = Const()
        mul_grad/BroadcastGradientArgs/s1 = Const()
        mul_grad/BroadcastGradientArgs = BroadcastGradientArgs(
            mul_grad/BroadcastGradientArgs/s0,
            mul_grad/BroadcastGradientArgs/s1)
        mul_grad/Mul = Mul(Fill, mul/y)
        mul_grad/Mul_1 = Mul(Placeholder, Fill)
        mul_grad/Sum/reduction_indices = Const()
        mul_grad/Sum = Sum(mul_grad/Mul_1, mul_grad/Sum/reduction_indices)
        mul_grad/Reshape/shape = Const()
        mul_grad/Reshape = Reshape(mul_grad/Sum, mul_grad/Reshape/shape)
        Exp_grad/mul = Mul(grad_ys_1, Exp)
        AddN = AddN(mul_grad/Mul, Exp_grad/mul)
        """,
    ),
    conditional: (
        65,
        68,
        """
        Shape = Shape(cond/Merge, ^before)
        grad_ys_0 = Const(^before)
        Fill = Fill(Shape, grad_ys_0)
        cond/Merge_grad/cond_grad = Switch(Fill, cond/pred_id)
        cond/Merge_grad/tuple/group_deps = NoOp(^before, ^cond/Merge_grad/cond_grad)
        cond/Merge_grad/tuple/control_dependency = Identity(
            cond/Merge_grad/cond_grad,
            ^cond/Merge_grad/tuple/group_deps)
        cond/Merge_grad/tuple/control_dependency_1 = Identity(
            cond/Merge_grad/cond_grad:1,
            ^cond/Merge_grad/tuple/group_deps)
        cond/concat_grad/Const = Const(^before)
        cond/concat_grad/Rank = Const(^before)
        cond/concat_grad/mod = FloorMod(cond/concat_grad/Const, cond/concat_grad/Rank)
        cond/concat_grad/Shape = Shape(cond/concat/Switch, ^before)
        cond/concat_grad/ShapeN = ShapeN(cond/concat/Switch, cond/concat/Switch, ^before)
        cond/concat_grad/ConcatOffset = ConcatOffset(
            cond/concat_grad/mod,
            cond/concat_grad/ShapeN,
            cond/concat_grad/ShapeN:1)
        cond/concat_grad/Slice = Slice(
            cond/Merge_grad/tuple/control_dependency,
            cond/concat_grad/ConcatOffset,
            cond/concat_grad/ShapeN)
        cond/concat_grad/Slice_1 = Slice(
            cond/Merge_grad/tuple/control_dependency,
            cond/concat_grad/ConcatOffset:1,
            cond/concat_grad/ShapeN:1)
        cond/concat_grad/tuple/group_deps = NoOp(^before, ^cond/concat_grad/Slice, ^cond/concat_grad/Slice_1)
        cond/concat_grad/tuple/control_dependency = Identity(
            cond/concat_grad/Slice,
            ^cond/concat_grad/tuple/group_deps)
        cond/concat_grad/tuple/control_dependency_1 = Identity(
            cond/concat_grad/Slice_1,
            ^cond/concat_grad/tuple/group_deps)
        cond/mul_grad/Shape = Shape(cond/mul/Switch:1, ^before)
        cond/mul_grad/Shape_1 = Shape(cond/mul/Switch_1:1, ^before)
        cond/mul_grad/BroadcastGradientArgs = BroadcastGradientArgs(
            cond/mul_grad/Shape,
            cond/mul_grad/Shape_1)
        cond/mul_grad/Mul = Mul(cond/Merge_grad/tuple/control_dependency_1, cond/mul/Switch_1:1)
        cond/mul_grad/Sum = Sum(cond/mul_grad/Mul, cond/mul_grad/BroadcastGradientArgs)
        cond/mul_grad/Reshape = Reshape(cond/mul_grad/Sum, cond/mul_grad/Shape)
        cond/mul_grad/Mul_1 = Mul(cond/mul/Switch:1, cond/Merge_grad/tuple/control_dependency_1)
        cond/mul_grad/Sum_1 = Sum(cond/mul_grad/Mul_1, cond/mul_grad/BroadcastGradientArgs:1)
        cond/mul_grad/Reshape_1 = Reshape(cond/mul_grad/Sum_1, cond/mul_grad/Shape_1)
        cond/mul_grad/tuple/group_deps = NoOp(^before, ^cond/mul_grad/Reshape, ^cond/mul_grad/Reshape_1)
        cond/mul_grad/tuple/control_dependency = Identity(
            cond/mul_grad/Reshape,
            ^cond/mul_grad/tuple/group_deps)
        cond/mul_grad/tuple/control_dependency_1 = Identity(
            cond/mul_grad/Reshape_1,
            ^cond/mul_grad/tuple/group_deps)
        AddN = AddN(cond/concat_grad/tuple/control_dependency, cond/concat_grad/tuple/control_dependency_1)
        Switch = Switch(Placeholder, cond/pred_id, ^before)
        Identity = Identity(Switch:1)
        Shape_1 = Shape(Switch:1)
        zeros/Const = Const(^before, ^Identity)
        zeros = Fill(Shape_1, zeros/Const)
        cond/concat/Switch_grad/cond_grad = Merge(AddN, zeros)
        Switch_1 = Switch(Placeholder, cond/pred_id, ^before)
        Identity_1 = Identity(Switch_1)
        Shape_2 = Shape(Switch_1)
        zeros_1/Const = Const(^before, ^Identity_1)
        zeros_1 = Fill(Shape_2, zeros_1/Const)
        cond/mul/Switch_grad/cond_grad = Merge(zeros_1, cond/mul_grad/tuple/control_dependency)
        Switch_2 = Switch(Placeholder_2, cond/pred_id, ^before)
        Identity_2 = Identity(Switch_2)
        Shape_3 = Shape(Switch_2)
        zeros_2/Const = Const(^before, ^Identity_2)
        zeros_2 = Fill(Shape_3, zeros_2/Const)
        cond/mul/Switch_1_grad/cond_grad = Merge(zeros_2, cond/mul_grad/tuple/control_dependency_1)
        AddN_1 = AddN(cond/concat/Switch_grad/cond_grad, cond/mul/Switch_grad/cond_grad)
        """,
    ),
    loop: (
        115,
        118,
        """
        Shape = Const()
        grad_ys_0 = Const()
        Fill = Fill(Shape, grad_ys_0)
        f_count = Const()
        f_count_1 = Enter(f_count)
        Merge = Merge(f_count_1, NextIteration)
        Switch = Switch(Merge, while/LoopCond)
        Add/y = Const(^while/Identity)
        Add = Add(Switch:1, Add/y)
        NextIteration = NextIteration(
            Add,
            ^while/cond/Exp_grad/mul/f_sync,
            ^while/cond/Merge_grad/StackPushV2)
        f_count_2 = Exit(Switch)
        b_count = Const()
        b_count_1 = Enter(f_count_2)
        Merge_1 = Merge(b_count_1, NextIteration_1)
        GreaterEqual = GreaterEqual(Merge_1, GreaterEqual/Enter)
        GreaterEqual/Enter = Enter(b_count)
        b_count_2 = LoopCond(GreaterEqual)
        Switch_1 = Switch(Merge_1, b_count_2)
        Sub = Sub(Switch_1:1, GreaterEqual/Enter)
        NextIteration_1 = NextIteration(Sub, ^while/cond/Merge_grad/b_sync)
        b_count_3 = Exit(Switch_1)
        zeros = Const()
        while/Exit_1_grad/b_exit = Enter(Fill)
        while/Exit_2_grad/b_exit = Enter(zeros)
        while/Switch_1_grad/b_switch = Merge(while/Exit_1_grad/b_exit, while/Switch_1_grad_1/NextIteration)
        while/Merge_1_grad/Switch = Switch(while/Switch_1_grad/b_switch, b_count_2)
        while/Enter_1_grad/Exit = Exit(while/Merge_1_grad/Switch)
        while/cond/Merge_grad/Const = Const()
        while/cond/Merge_grad/f_acc = StackV2(while/cond/Merge_grad/Const)
        while/cond/Merge_grad/Enter = Enter(while/cond/Merge_grad/f_acc)
        while/cond/Merge_grad/StackPushV2 = StackPushV2(while/cond/Merge_grad/Enter, while/cond/pred_id, ^Add)
        while/cond/Merge_grad/StackPopV2 = StackPopV2(while/cond/Merge_grad/StackPopV2/Enter, ^Sub)
        while/cond/Merge_grad/StackPopV2/Enter = Enter(while/cond/Merge_grad/f_acc)
        while/cond/Merge_grad/b_sync = ControlTrigger(
            ^while/cond/Exp_grad/mul/StackPopV2,
            ^while/cond/Merge_grad/StackPopV2,
            ^while/cond/mul_grad/Mul_1/StackPopV2)
        while/cond/Merge_grad/cond_grad = Switch(
            while/Merge_1_grad/Switch:1,
            while/cond/Merge_grad/StackPopV2)
        while/cond/Exp_grad/mul = Mul(while/cond/Merge_grad/cond_grad, while/cond/Exp_grad/mul/StackPopV2)
        while/cond/Exp_grad/mul/Const = Const()
        while/cond/Exp_grad/mul/f_acc = StackV2(while/cond/Exp_grad/mul/Const)
        while/cond/Exp_grad/mul/Enter = Enter(while/cond/Exp_grad/mul/f_acc)
        while/cond/Exp_grad/mul/StackPushV2 = StackPushV2(
            while/cond/Exp_grad/mul/StackPushV2/Switch,
            while/cond/Exp,
            ^Add)
        while/cond/Exp_grad/mul/StackPushV2/Switch = Switch(while/cond/Exp_grad/mul/Enter, while/cond/pred_id)
        while/cond/Exp_grad/mul/f_sync = ControlTrigger(
            ^while/cond/Exp_grad/mul/StackPushV2,
            ^while/cond/mul_grad/Mul_1/StackPushV2)
        while/cond/Exp_grad/mul/Switch = Switch(
            while/cond/Exp_grad/mul/Switch/Enter,
            while/cond/Merge_grad/StackPopV2)
        while/cond/Exp_grad/mul/Switch/Enter = Enter(while/cond/Exp_grad/mul/f_acc)
        while/cond/Exp_grad/mul/StackPopV2 = StackPopV2(while/cond/Exp_grad/mul/Switch)
        while/cond/mul_grad/Mul = Mul(while/cond/Merge_grad/cond_grad:1, while/cond/mul_grad/Mul/Enter)
        while/cond/mul_grad/Mul/Enter = Enter(Placeholder)
        while/cond/mul_grad/Mul_1 = Mul(
            while/cond/Merge_grad/cond_grad:1,
            while/cond/mul_grad/Mul_1/StackPopV2)
        while/cond/mul_grad/Mul_1/Const = Const()
        while/cond/mul_grad/Mul_1/f_acc = StackV2(while/cond/mul_grad/Mul_1/Const)
        while/cond/mul_grad/Mul_1/Enter = Enter(while/cond/mul_grad/Mul_1/f_acc)
        while/cond/mul_grad/Mul_1/StackPushV2 = StackPushV2(
            while/cond/mul_grad/Mul_1/StackPushV2/Switch:1,
            while/cond/mul/Switch:1,
            ^Add)
        while/cond/mul_grad/Mul_1/StackPushV2/Switch = Switch(
            while/cond/mul_grad/Mul_1/Enter,
            while/cond/pred_id)
        while/cond/mul_grad/Mul_1/Switch = Switch(
            while/cond/mul_grad/Mul_1/Switch/Enter,
            while/cond/Merge_grad/StackPopV2)
        while/cond/mul_grad/Mul_1/Switch/Enter = Enter(while/cond/mul_grad/Mul_1/f_acc)
        while/cond/mul_grad/Mul_1/StackPopV2 = StackPopV2(while/cond/mul_grad/Mul_1/Switch:1)
        Const = Const(^Sub)
        Switch_2 = Switch(Const, while/cond/Merge_grad/StackPopV2)
        while/cond/Exp/Switch_grad/cond_grad = Merge(while/cond/Exp_grad/mul, Switch_2:1)
        Const_1 = Const(^Sub)
        Switch_3 = Switch(Const_1, while/cond/Merge_grad/StackPopV2)
        while/cond/mul/Switch_grad/cond_grad = Merge(Switch_3, while/cond/mul_grad/Mul)
        Const_2 = Const(^Sub)
        Switch_4 = Switch(Const_2, while/cond/Merge_grad/StackPopV2)
        while/cond/mul/Switch_1_grad/cond_grad = Merge(Switch_4, while/cond/mul_grad/Mul_1)
        AddN = AddN(while/cond/Exp/Switch_grad/cond_grad, while/cond/mul/Switch_grad/cond_grad)
        while/cond/mul/Enter_grad/b_acc = Const()
        while/cond/mul/Enter_grad/b_acc_1 = Enter(while/cond/mul/Enter_grad/b_acc)
        while/cond/mul/Enter_grad/b_acc_2 = Merge(
            while/cond/mul/Enter_grad/b_acc_1,
            while/cond/mul/Enter_grad/NextIteration)
        while/cond/mul/Enter_grad/Switch = Switch(while/cond/mul/Enter_grad/b_acc_2, b_count_2)
        while/cond/mul/Enter_grad/Add = Add(
            while/cond/mul/Enter_grad/Switch:1,
            while/cond/mul/Switch_1_grad/cond_grad)
        while/cond/mul/Enter_grad/NextIteration = NextIteration(while/cond/mul/Enter_grad/Add)
        while/cond/mul/Enter_grad/b_acc_3 = Exit(while/cond/mul/Enter_grad/Switch)
        while/Switch_1_grad_1/NextIteration = NextIteration(AddN)
        AddN_1 = AddN(while/Enter_1_grad/Exit, while/cond/mul/Enter_grad/b_acc_3)
        """,
    ),
}

# Of larger graphs: how many nodes they have, the seed, and the CRC-32 of all nodes.
SUMS = {
    nested_loops: (215, 218, 558944935),
    unconnected: (40, 43, 3595873916),
    recurrent: (255, 258, 3004014551),
    within_a_branch: (92, 95, 3543324892),
    hessians: (80, 83, 2581291600),
    looked_up: (460, 463, 2963078079),
    adam_of_rows: (93, 96, 4217982189),
    loops_in_branches: (576, 579, 770286655),
}


def _written(node):
    data = [i for i in node.input if not i.startswith("^")]
    controls = sorted(i for i in node.input if i.startswith("^"))
    inputs = ", ".join(i.replace("gradients/", "") for i in data + controls)
    return f"{node.name.replace('gradients/', '')} = {node.op}({inputs})"


class GradientNodesTest(unittest.TestCase):
    def test_nodes_are_those_of_tensorflow(self):
        for build, (count, seed, nodes) in NODES.items():
            with self.subTest(build.__name__), tf.Graph().as_default() as graph:
                build()
                made = graph.as_graph_def().node
                got = [_written(node) for node in made if node.name.startswith("gradients/")]
                want = nodes.replace("(\n            ", "(").replace(",\n            ", ", ").split("\n")
                self.assertEqual(got, [line.strip() for line in want[1:-1]])
                self.assertEqual(len(made), count)
                tf.set_random_seed(1)
                tf.random_uniform([], name="r")
                self.assertEqual(graph.get_operation_by_name("r/RandomUniform").get_attr("seed2"), seed)

    def test_the_aggregation_method_says_how_gradients_are_summed(self):
        method = tf.AggregationMethod
        tree = [f"y_gradient_sum/AddN{number}" for number in ("", "_1", "_2")]
        for shape, chosen, names in (
            ([2], None, ["AddN"]),
            ([2], method.EXPERIMENTAL_TREE, tree),
            ([2], method.EXPERIMENTAL_ACCUMULATE_N, ["AccumulateNV2"]),
            ([None], method.EXPERIMENTAL_ACCUMULATE_N, tree),
        ):
            with tf.Graph().as_default() as graph, tf.Session() as session:
                x = tf.placeholder(tf.float32, shape)
                y = tf.exp(x, name="y")
                optimizer = tf.train.GradientDescentOptimizer(1.0)
                loss = y * y + tf.square(y) + tf.negative(y)
                ((grad, _),) = optimizer.compute_gradients(loss, [x], aggregation_method=chosen)
                sums = [op for op in graph.get_operations() if "AddN" in op.type or "Accumulate" in op.type]
                self.assertEqual([op.name[len("gradients/") :] for op in sums], names)
                self.assertEqual(session.run(grad, {x: [0.0, 0.0]}).tolist(), [3.0, 3.0])
        with self.assertRaisesRegex(ValueError, "Invalid aggregation_method specified 7."):
            tf.gradients(y, x, aggregation_method=7)

    def test_nodes_of_larger_graphs_are_those_of_tensorflow(self):
        for build, want in SUMS.items():
            with self.subTest(build.__name__), tf.Graph().as_default() as graph:
                build()
                made = graph.as_graph_def().node
                nodes = [_written(node) for node in made]
                tf.set_random_seed(1)
                tf.random_uniform([], name="r")
                seed = graph.get_operation_by_name("r/RandomUniform").get_attr("seed2")
                self.assertEqual((len(made), seed, zlib.crc32("\n".join(nodes).encode())), want)

    def test_loops_keep_their_options(self):
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [2])
            y = tf.while_loop(
                lambda i, y: i < 3,
                lambda i, y: (i + 1, y * x),
                [0, x],
                parallel_iterations=1,
                swap_memory=True,
            )[1]
            (grad,) = tf.gradients(y, x, colocate_gradients_with_ops=True)
            made = [op for op in graph.get_operations() if op.name.startswith("gradients/")]
            pushes = [op for op in made if op.type == "StackPushV2"]
            self.assertEqual([op.get_attr("swap_memory") for op in pushes], [True])
            self.assertNotIn("ControlTrigger", [op.type for op in made])  # one iteration follows the other
            for counter in ("f_count", "b_count_3"):
                op = graph.get_operation_by_name(f"gradients/{counter}")
                self.assertEqual(op.colocation_groups(), [b"loc:@while/Exit_1"])
            with tf.Session() as session:
                self.assertEqual(session.run(grad, {x: [1.0, 2.0]}).tolist(), [4.0, 32.0])

    def test_nodes_have_the_device_of_the_scope(self):
        with tf.Graph().as_default() as graph, tf.device("/job:worker/task:1"):
            x = tf.placeholder(tf.float32, [2])
            tf.gradients(x * x + x, x)
            made = [op for op in graph.get_operations() if op.name.startswith("gradients/")]
            self.assertEqual({op.device for op in made}, {"/job:worker/task:1"})

    def test_a_device_function_is_called_once_for_each_node(self):
        """It may count, to place nodes in turns."""
        called = []

        def place(op):
            called.append(op.name)
            return "/job:ps/task:0"

        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [2])
            y = tf.exp(x * x)
            with tf.device(place):
                tf.gradients(y, x)
            self.assertIn("gradients/Exp_grad/mul", called)
            self.assertEqual(len(called), len(set(called)))
            made = graph.as_graph_def()
        called.clear()
        with tf.Graph().as_default() as graph, tf.device(place):
            tf.import_graph_def(made, name="")
            free = [op.name for op in graph.get_operations() if "_class" not in op.node_def.attr]
            self.assertCountEqual(called, free)

    def test_a_second_network_has_as_many_nodes_as_the_first(self):
        """Only the last state is used, so nothing is built for the outputs of the steps."""
        with tf.Graph().as_default() as graph:
            counts, cell = [], tf.nn.rnn_cell.BasicLSTMCell(3)
            for _ in range(2):
                x = tf.placeholder(tf.float32, [None, 5, 2])
                state = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)[1]
                before = len(graph.get_operations())
                tf.gradients(state.h, x)
                counts.append(len(graph.get_operations()) - before)
        self.assertEqual(counts, [233, 233])

    def test_shapes_carry_no_gradients(self):
        """A number of elements does not connect a y with an x, so nothing is built for it."""
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [None])
            tf.gradients(tf.reduce_sum(x) / tf.cast(tf.size(x), tf.float32), x)
            self.assertFalse([op for op in graph.get_operations() if "Cast_grad" in op.name])


if __name__ == "__main__":
    unittest.main()
