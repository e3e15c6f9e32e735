// The fields that Braid adds to TensorFlow's messages, and the fields of its own messages that are read
// without protobuf-c.
//
// Field numbers from 1000 are unused in TensorFlow's messages. TensorFlow ignores them as unknown fields, so
// a task of Braid may set them in any message; it acts on them only where the other side has set its own.
//
//   message                              field  meaning
//   CreateWorkerSessionRequest           1000   the client that what the session makes belongs to
//   CleanupAllRequest                    1000   the client whose resources are cleared
//   GetStatusResponse                    1000   the task takes tensors that are pushed to it
//   GetStatusResponse                    1001   the fingerprint of the task's cluster specification (fixed64)
//   RunGraphRequest                      1000   all tasks of the step take pushes: push what goes to them
//   RunGraphRequest                      1001   functions that called each other down to this step (fixed64)
//   RunGraphResponse                     1000   the step ends on this task without CleanupGraph
//   RunGraphResponse                     1001   a PushedTensor for the task of the master
//   RecvTensorRequest                    1000   the receiver takes a large tensor in chunks
//   RecvTensorRequest                    1001   its offer to read tensors from memory (cross_memory.h)
//   RecvTensorRequest                    1002   the names in the key are those of a cluster of the session
//   RecvTensorResponse, PushedTensor     1000   the description of a tensor in chunks (TensorChunks)
//   RecvTensorResponse, PushedTensor     1001   its first chunk
//   PushedTensor                         1002   the rendezvous key of the tensor
//   CompleteGroupRequest                 1000   the incarnation of the device that joins
//   CompleteGroupResponse                1000   the incarnations of all devices of the group
//   GetStepSequenceRequest               1000   a step that has failed: the next one has to come after it
#ifndef BD_CLUSTER_RPC_WIRE_FIELDS_H
#define BD_CLUSTER_RPC_WIRE_FIELDS_H

#define BD_STATUS_TAKES_PUSHES 1000
#define BD_STATUS_SPEC_FINGERPRINT 1001
#define BD_RUN_GRAPH_PUSHES 1000
#define BD_RUN_GRAPH_CALL_DEPTH 1001
#define BD_RUN_GRAPH_RESPONSE_ENDS_BY_ITSELF 1000
#define BD_RUN_GRAPH_RESPONSE_PUSHED 1001
#define BD_RECV_TAKES_CHUNKS 1000
#define BD_RECV_MEMORY_OFFER 1001
#define BD_RECV_OF_SESSION 1002
#define BD_RECV_CHUNKS 1000
#define BD_RECV_FIRST_CHUNK 1001
#define BD_PUSHED_KEY 1002
#define BD_COMPLETE_GROUP_INCARNATION 1000
#define BD_COMPLETE_GROUP_INCARNATIONS 1000
#define BD_GET_STEP_SEQUENCE_AFTER 1000

// PushTensorsRequest, and its response.
#define BD_PUSH_STEP_ID 1
#define BD_PUSH_REQUEST_ID 2
#define BD_PUSH_TENSOR 3
#define BD_PUSH_REFUSED 1
#define BD_PUSH_OFFER 2

// TransferRequest.
#define BD_TRANSFER_INCARNATION 1
#define BD_TRANSFER_NUMBER 2
#define BD_TRANSFER_OFFSET 3
#define BD_TRANSFER_IS_LAST 4
#define BD_TRANSFER_DATA 5
#define BD_TRANSFER_CALL 6

#endif
