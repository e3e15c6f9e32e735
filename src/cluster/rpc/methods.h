// Method paths on the wire: TensorFlow's, and Braid's own.
#ifndef BD_CLUSTER_RPC_METHODS_H
#define BD_CLUSTER_RPC_METHODS_H

#define BD_MASTER_SERVICE "/tensorflow.MasterService/"
#define BD_WORKER_SERVICE "/tensorflow.WorkerService/"
#define BD_EAGER_SERVICE "/tensorflow.eager.EagerService/" // not served
#define BD_CLUSTER_SERVICE "/braid.ClusterService/"
#define BD_REPLICATION_SERVICE "/braid.ReplicationService/" // between the processes of a replicated task
#define BD_HEALTH_SERVICE "/grpc.health.v1.Health/"
#define BD_MONITORING_SERVICE "/braid.MonitoringService/"
#define BD_REFLECTION_SERVICE "/grpc.reflection.v1alpha.ServerReflection/"

#endif
