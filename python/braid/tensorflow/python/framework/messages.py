"""TensorFlow's messages that have public names (tf.ConfigProto, tf.train.Example, ...)."""

from braid import protos
from braid.tensorflow.python.util.tf_export import tf_export


def __getattr__(name):
    return getattr(protos, name)


tf_export("AttrValue").export_constant(__name__, "AttrValue")
tf_export("ConfigProto").export_constant(__name__, "ConfigProto")
tf_export("Event", "summary.Event").export_constant(__name__, "Event")
tf_export("GPUOptions").export_constant(__name__, "GPUOptions")
tf_export("GraphDef").export_constant(__name__, "GraphDef")
tf_export("GraphOptions").export_constant(__name__, "GraphOptions")
tf_export("HistogramProto").export_constant(__name__, "HistogramProto")
tf_export("LogMessage").export_constant(__name__, "LogMessage")
tf_export("MetaGraphDef").export_constant(__name__, "MetaGraphDef")
tf_export("NameAttrList").export_constant(__name__, "NameAttrList")
tf_export("NodeDef").export_constant(__name__, "NodeDef")
tf_export("OptimizerOptions").export_constant(__name__, "OptimizerOptions")
tf_export("RunMetadata").export_constant(__name__, "RunMetadata")
tf_export("RunOptions").export_constant(__name__, "RunOptions")
tf_export("SessionLog", "summary.SessionLog").export_constant(__name__, "SessionLog")
tf_export("Summary", "summary.Summary").export_constant(__name__, "Summary")
tf_export("summary.SummaryDescription").export_constant(__name__, "SummaryDescription")
tf_export("SummaryMetadata").export_constant(__name__, "SummaryMetadata")
tf_export("TensorInfo").export_constant(__name__, "TensorInfo")
tf_export("train.BytesList").export_constant(__name__, "BytesList")
tf_export("train.ClusterDef").export_constant(__name__, "ClusterDef")
tf_export("train.Example").export_constant(__name__, "Example")
tf_export("train.Feature").export_constant(__name__, "Feature")
tf_export("train.FeatureList").export_constant(__name__, "FeatureList")
tf_export("train.FeatureLists").export_constant(__name__, "FeatureLists")
tf_export("train.Features").export_constant(__name__, "Features")
tf_export("train.FloatList").export_constant(__name__, "FloatList")
tf_export("train.Int64List").export_constant(__name__, "Int64List")
tf_export("train.JobDef").export_constant(__name__, "JobDef")
tf_export("train.SaverDef").export_constant(__name__, "SaverDef")
tf_export("train.SequenceExample").export_constant(__name__, "SequenceExample")
tf_export("train.ServerDef").export_constant(__name__, "ServerDef")
