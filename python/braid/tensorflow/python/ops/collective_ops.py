"""Ops that the members of a group run together: sums, and values that one sends to all."""

from braid.tensorflow.python.framework import device
from braid.tensorflow.python.ops import gen_collective_ops


def _check(name, group_size, t=None):
    if t is not None and not device.canonical_name(t.device):
        raise ValueError("Device assignment required for collective ops")
    if group_size <= 1:
        raise ValueError(f"Parameter group_size to {name} must be at least 2.")


def all_reduce(
    t,
    group_size,
    group_key,
    instance_key,
    merge_op,
    final_op,
    subdiv_offsets=(0,),
    communication_hint="auto",
):
    """The sum (merge_op "Add"; "Mul", "Max", "Min") of the members' tensors; with final_op "Div" their mean.

    group_key: of the group, on all members. instance_key: of this op of the group.
    """
    _check("all_reduce", group_size, t)
    return gen_collective_ops.collective_reduce(
        t,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        merge_op=merge_op,
        final_op=final_op,
        subdiv_offsets=subdiv_offsets,
        communication_hint=communication_hint,
    )


def all_gather(t, group_size, group_key, instance_key, communication_hint="auto"):
    """The members' tensors one after another along dimension 0."""
    _check("all_gather", group_size, t)
    return gen_collective_ops.collective_gather(
        t,
        shape=[0],
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint,
    )


def broadcast_send(t, shape, dtype, group_size, group_key, instance_key, communication_hint="auto"):
    """Gives t to the other members, which call broadcast_recv. Returns it."""
    _check("broadcast_send", group_size, t)
    if t.shape != shape:
        raise ValueError("Shape of broadcast_send tensor not equal to delcared shape")
    if t.dtype != dtype:
        raise ValueError("Type of broadcast_send tensor not equal to declared type")
    return gen_collective_ops.collective_bcast_send(
        t,
        shape=shape,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint,
    )


def broadcast_recv(shape, dtype, group_size, group_key, instance_key, communication_hint="auto"):
    """What a member gives by broadcast_send."""
    _check("broadcast_recv", group_size)
    return gen_collective_ops.collective_bcast_recv(
        shape=shape,
        T=dtype,
        group_size=group_size,
        group_key=group_key,
        instance_key=instance_key,
        communication_hint=communication_hint,
    )
