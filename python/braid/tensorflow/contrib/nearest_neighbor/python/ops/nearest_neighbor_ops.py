"""Buckets of points in tables that hash by the sides of hyperplanes."""

from braid.tensorflow.python.ops import gen_nearest_neighbor_ops


def hyperplane_lsh_probes(
    point_hyperplane_product, num_tables, num_hyperplanes_per_table, num_probes, name=None
):
    """Buckets in which points are looked up, the nearest first.

    point_hyperplane_product: a matrix with a row for each point, of its products with the hyperplanes of all
    tables, table by table; hyperplanes have the same norm. A bit of a bucket is whether a product is at
    least 0.

    Returns:
      probes, table_ids: int32 matrices with a row of num_probes buckets, and of their tables, for each point.
      The first num_tables are the point's own bucket in each table. Then come those, of all tables, at the
      least distance: the sum of the squares of the products whose signs would differ.
    """
    return gen_nearest_neighbor_ops.hyperplane_lsh_probes(
        point_hyperplane_product, num_tables, num_hyperplanes_per_table, num_probes, name=name
    )
