"""tf.contrib.solvers: iterative solvers of linear equations, in modules (python.ops.linear_equations)."""
