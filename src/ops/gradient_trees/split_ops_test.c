// Tests of the ops that find splits. Values are those of TensorFlow 1.15.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static const op_case
    values[] =
        {
            {"BuildDenseInequalitySplits", NULL,
             "int64[] 2; int32[5] 0 0 0 1 1; int64[5,2] 0 0 1 0 2 0 0 0 2 0; float[5] 2.4000001 -0.600000024 0.100000001 -33.0999985 2.29999995; float[5] 0.200000003 0.0799999982 0.280000001 0.50999999 0.0399999991; float[3] 0.300000012 0.519999981 0.699999988; int32[] -1; int32[] 3; float[] 0.100000001; float[] 1; float[] 0.25; float[] 0; int32[] 1; int32[] 0",
             "int32[2] 0 1; float[2] 0.304614604 32.8503876; string[2] \\x0a\\x09\\x12\\x07\\x08\\x03\\x15\\x9a\\x99\\x99\\x3e\\x12\\x08\\x0a\\x06\\x0a\\x04\\x00\\x00\\x80\\xbf\\x1a\\x08\\x0a\\x06\\x0a\\x04\\x64\\x2b\\x02\\x3e \\x0a\\x09\\x12\\x07\\x08\\x03\\x15\\x9a\\x99\\x99\\x3e\\x12\\x08\\x0a\\x06\\x0a\\x04\\x9a\\xb8\\x51\\x41\\x1a\\x08\\x0a\\x06\\x0a\\x04\\xc1\\xc3\\x83\\xbf"},
            {"BuildDenseInequalitySplits", NULL,
             "int64[] 2; int32[5] 0 0 0 1 1; int64[5,2] 0 0 1 0 2 0 0 0 2 0; float[5] 2.4000001 -0.600000024 0.100000001 -33.0999985 2.29999995; float[5] 0.200000003 0.0799999982 0.280000001 0.50999999 0.0399999991; float[3] 0.300000012 0.519999981 0.699999988; int32[] 2; int32[] 3; float[] 0.100000001; float[] 1; float[] 0.25; float[] 0; int32[] 1; int32[] 0",
             "int32[2] 0 1; float[2] 0.304614604 32.8503876; string[2] \\x0a\\x09\\x12\\x07\\x08\\x03\\x15\\x9a\\x99\\x99\\x3e\\x12\\x0b\\x12\\x09\\x0a\\x01\\x02\\x12\\x04\\x00\\x00\\x80\\xbf\\x1a\\x0b\\x12\\x09\\x0a\\x01\\x02\\x12\\x04\\x64\\x2b\\x02\\x3e \\x0a\\x09\\x12\\x07\\x08\\x03\\x15\\x9a\\x99\\x99\\x3e\\x12\\x0b\\x12\\x09\\x0a\\x01\\x02\\x12\\x04\\x9a\\xb8\\x51\\x41\\x1a\\x0b\\x12\\x09\\x0a\\x01\\x02\\x12\\x04\\xc1\\xc3\\x83\\xbf"},
            {"BuildDenseInequalitySplits", NULL,
             "int64[] 2; int32[5] 0 0 0 1 1; int64[5,2] 0 0 1 0 2 0 0 0 2 0; float[5] 2.4000001 -0.600000024 0.100000001 -33.0999985 2.29999995; float[5] 0.200000003 0.0799999982 0.280000001 0.50999999 0.0399999991; float[3] 0.300000012 0.519999981 0.699999988; int32[] -1; int32[] 3; float[] 0.100000001; float[] 1; float[] 0.25; float[] 0; int32[] 1; int32[] 1", "int32[2] 0 1; float[1] 33.1549988; string[1] \\x0a\\x09\\x3a\\x07\\x08\\x03\\x15\\x9a\\x99\\x99\\x3e\\x12\\x08\\x0a\\x06\\x0a\\x04\\x00\\x00\\x80\\xbf\\x12\\x08\\x0a\\x06\\x0a\\x04\\x64\\x2b\\x02\\x3e\\x12\\x08\\x0a\\x06\\x0a\\x04\\x9a\\xb8\\x51\\x41\\x12\\x08\\x0a\\x06\\x0a\\x04\\xc1\\xc3\\x83\\xbf\\x1a\\x02\\x00\\x01"},
            {"BuildDenseInequalitySplits", NULL,
             "int64[] 2; int32[5] 0 0 0 1 1; int64[5,2] 0 0 1 0 2 0 0 0 2 0; float[5,10] 1.62399995 -0.611999989 -0.527999997 -1.07299995 0.86500001 -2.30200005 1.745 -0.760999978 0.319000006 -0.248999998 1.46200001 -2.05999994 -0.321999997 -0.384000003 1.13399994 -1.10000002 -0.172000006 -0.878000021 0.0419999994 0.583000004 -1.10099995 1.14499998 0.90200001 0.501999974 0.901000023 -0.684000015 -0.123000003 -0.93599999 -0.268000007 0.529999971 -0.691999972 -0.397000015 -0.686999977 -0.845000029 -0.671000004 -0.0130000003 -1.11699998 0.233999997 1.65999997 0.741999984 -0.192000002 -0.888000011 -0.746999979 1.69200003 0.050999999 -0.637000024 0.191 2.0999999 0.119999997 0.616999984; float[5,10] 0.300000012 0.351999998 1.14300001 0.349000007 0.209000006 0.587000012 0.838999987 0.930999994 0.286000013 0.88499999 0.754000008 1.25300002 0.513000011 0.298000008 0.488999993 0.0759999976 1.13199997 1.51999998 2.18600011 1.39600003 1.44400001 0.504000008 0.159999996 0.875999987 0.316000015 2.02200007 0.305999994 0.828000009 0.230000004 0.762000024 0.222000003 0.201000005 0.187000006 0.409999996 0.197999999 0.119000003 0.671000004 0.377999991 0.122000001 1.12899995 1.199 0.185000002 0.375 0.638999999 0.423000008 0.0769999996 0.344000012 0.0439999998 0.620000005 0.698000014; float[3] 0.300000012 0.519999981 0.699999988; int32[] -1; int32[] 3; float[] 0; float[] 0.5; float[] 0.25; float[] 0; int32[] 3; int32[] 0",
             "int32[2] 0 1; float[2] 4.89706421 1.00101471; string[2] \\x0a\\x09\\x12\\x07\\x08\\x03\\x15\\xb8\\x1e\\x05\\x3f\\x12\\x2c\\x0a\\x2a\\x0a\\x28\\xc5\\x4f\\xc0\\xbf\\xc9\\x4a\\x83\\x3f\\xfd\\xda\\xa3\\x3e\\xae\\x77\\x62\\x3f\\xb2\\xb0\\x96\\xbf\\xc2\\xec\\x02\\x40\\x20\\x8a\\x07\\xbf\\xa7\\x2a\\xf3\\x3e\\xaa\\xf0\\xd4\\xbd\\x96\\x7b\\xd0\\xbd\\x1a\\x2c\\x0a\\x2a\\x0a\\x28\\xbf\\xa6\\xe6\\x3e\\xc4\\xe4\\x42\\xbf\\xe5\\x0f\\x47\\xbf\\xa3\\x01\\x89\\xbe\\x43\\x45\\x2f\\xbf\\xb8\\xc5\\x67\\x3e\\xd2\\xe1\\xc0\\x3d\\xb9\\x14\\x03\\x3f\\x8e\\x1d\\x5f\\x3e\\xbe\\x01\\x9a\\xbe \\x0a\\x09\\x12\\x07\\x08\\x03\\x15\\x9a\\x99\\x99\\x3e\\x12\\x2c\\x0a\\x2a\\x0a\\x28\\x09\\xf8\\x10\\x3f\\xe2\\x3e\\xa9\\x3e\\x45\\x2a\\x14\\x3f\\x1f\\x6b\\x19\\x3f\\xba\\x62\\x0f\\x3f\\x65\\x57\\x3e\\x3c\\x53\\x20\\x2b\\x3f\\x05\\xe3\\x2d\\xbe\\x49\\x60\\xbd\\xbf\\x45\\x71\\xb2\\xbe\\x1a\\x2c\\x0a\\x2a\\x0a\\x28\\xd9\\xd0\\xb2\\x3d\\x87\\xd6\\x3f\\x3f\\xed\\x13\\x0b\\x3f\\x9d\\x23\\x84\\xbf\\xbb\\xcc\\x12\\xbd\\xc6\\x69\\x17\\x3f\\x18\\x86\\x11\\xbe\\x52\\xbc\\x00\\xc0\\x26\\xb4\\x97\\xbd\\x75\\x0b\\xba\\xbe"},
            {"BuildDenseInequalitySplits", NULL,
             "int64[] 2; int32[5] 0 0 0 1 1; int64[5,2] 0 0 1 0 2 0 0 0 2 0; float[5,2] -0.446999997 1.22500002 0.402999997 0.593999982 -1.09500003 0.169 0.740999997 -0.953999996 -0.266000003 0.0329999998; float[5,2,2] 0.5 0.100000001 0.100000001 0.300000012 0.5 0.100000001 0.100000001 0.300000012 0.5 0.100000001 0.100000001 0.300000012 0.5 0.100000001 0.100000001 0.300000012 0.5 0.100000001 0.100000001 0.300000012; float[3] 0.300000012 0.519999981 0.699999988; int32[] -1; int32[] 3; float[] 0; float[] 0.5; float[] 0.25; float[] 0; int32[] 2; int32[] 0", "int32[2] 0 1; float[2] -0.245424509 -0.00640049577; string[2] \\x0a\\x09\\x12\\x07\\x08\\x03\\x15\\xb8\\x1e\\x05\\x3f\\x12\\x0c\\x0a\\x0a\\x0a\\x08\\xeb\\xb3\\x0c\\x3e\\xee\\xb7\\x93\\xbf\\x1a\\x0c\\x0a\\x0a\\x0a\\x08\\xcc\\x12\\x3e\\x3f\\xaa\\x9a\\x3f\\xbe \\x0a\\x09\\x12\\x07\\x08\\x03\\x15\\x9a\\x99\\x99\\x3e\\x12\\x0c\\x0a\\x0a\\x0a\\x08\\x6b\\xb4\\x0b\\xbf\\x74\\x9c\\x46\\x3f\\x1a\\x0c\\x0a\\x0a\\x0a\\x08\\x6a\\x44\\x38\\x3e\\x47\\xac\\x20\\xbd"},
            {"BuildDenseInequalitySplits", NULL,
             "int64[] 2; int32[5] 0 0 0 1 1; int64[5,2] 0 0 1 0 2 0 0 0 2 0; float[5,2] -1.37300003 0.314999998 0.846000016 -0.860000014 0.351000011 -1.31200004 -0.0390000008 -1.61600006 1.12100005 0.409000009; float[5,2] 0.0250000004 0.774999976 1.27400005 1.96700001 1.85800004 1.23599994 1.62800002 0.338 1.199 0.862999976; float[3] 0.300000012 0.519999981 0.699999988; int32[] -1; int32[] 3; float[] 0; float[] 0.5; float[] 0.25; float[] 0; int32[] 3; int32[] 1",
             "int32[2] 0 1; float[1] 1.65491509; string[1] \\x0a\\x09\\x3a\\x07\\x08\\x03\\x15\\x9a\\x99\\x99\\x3e\\x12\\x0c\\x0a\\x0a\\x0a\\x08\\x23\\x75\\xab\\x3f\\x55\\xb9\\x35\\xbe\\x12\\x0c\\x0a\\x0a\\x0a\\x08\\x47\\x52\\x94\\xbe\\x49\\x4b\\x04\\x3f\\x12\\x0c\\x0a\\x0a\\x0a\\x08\\x3d\\x24\\x73\\x3c\\x4d\\x98\\x9a\\x3f\\x12\\x0c\\x0a\\x0a\\x0a\\x08\\xc2\\x80\\x02\\xbf\\xad\\xce\\x60\\xbe\\x1a\\x02\\x00\\x01"},
            {"BuildDenseInequalitySplits", NULL,
             "int64[] 1; int32[0]; int64[0,2]; float[0]; float[0]; float[1] 0.300000012; int32[] -1; int32[] 0; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1; int32[] 0",
             "int32[0]; float[0]; string[0]"},
            {"BuildSparseInequalitySplits",
             NULL, "int64[] 1; int32[7] 0 0 0 0 1 1 2; int64[7,2] -1 0 0 0 1 0 0 1 -1 0 1 1 -1 0; float[7] 1.5 0.400000006 -1.20000005 2.4000001 0.100000001 -3 1; float[7] 1 0.300000012 0.200000003 0.400000006 0.800000012 0.5 1; float[2] 0.300000012 0.519999981; int32[] -1; int32[] 1; int64[] -1; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1", "int32[2] 0 1; float[2] 4.125 13.3867521; string[2] \\x0a\\x0b\\x1a\\x09\\x0a\\x07\\x08\\x01\\x15\\x9a\\x99\\x99\\x3e\\x12\\x08\\x0a\\x06\\x0a\\x04\\x01\\x00\\xc0\\xbf\\x1a\\x08\\x0a\\x06\\x0a\\x04\\x00\\x00\\x80\\x3f \\x0a\\x0d\\x22\\x0b\\x0a\\x09\\x08\\x01\\x15\\xb8\\x1e\\x05\\x3f\\x28\\x01\\x12\\x08\\x0a\\x06\\x0a\\x04\\x00\\x00\\x00\\x40\\x1a\\x08\\x0a\\x06\\x0a\\x04\\x8a\\x9d\\x18\\xc0"},
            {"BuildCategoricalEqualitySplits", NULL,
             "int64[] 2; int32[5] 0 0 0 1 1; int64[5,2] -1 0 1 0 2 0 -1 0 2 0; float[5] 1.79999995 2.4000001 -0.600000024 -33 0.5; float[5] 0.779999971 0.200000003 0.280000001 0.5 0.300000012; int32[] -1; int32[] 1; int64[] -1; float[] 0.100000001; float[] 1; float[] 0.100000001; float[] 0; int32[] 1; int32[] 0",
             "int32[2] 0 1; float[2] 0.570576191 36.7719955; string[2] \\x0a\\x06\\x2a\\x04\\x08\\x01\\x10\\x01\\x12\\x08\\x0a\\x06\\x0a\\x04\\x00\\x00\\x80\\xbf\\x1a\\x08\\x0a\\x06\\x0a\\x04\\x7f\\xc2\\x1e\\x3e \\x0a\\x06\\x2a\\x04\\x08\\x01\\x10\\x02\\x12\\x08\\x0a\\x06\\x0a\\x04\\xb3\\x90\\x05\\xbe\\x1a\\x08\\x0a\\x06\\x0a\\x04\\x8b\\x2e\\x72\\x41"},
            {"BuildCategoricalEqualitySplits", NULL,
             "int64[] 2; int32[5] 0 0 0 1 1; int64[5,2] -1 0 1 0 2 0 -1 0 2 0; float[5] 1.79999995 2.4000001 -0.600000024 -33 0.5; float[5] 0.779999971 0.200000003 0.280000001 0.5 0.300000012; int32[] -1; int32[] 1; int64[] -1; float[] 0.100000001; float[] 1; float[] 0.100000001; float[] 0; int32[] 1; int32[] 1",
             "int32[2] 0 1; float[1] 37.2146416; string[1] \\x0a\\x06\\x42\\x04\\x08\\x01\\x10\\x02\\x12\\x08\\x0a\\x06\\x0a\\x04\\x2e\\xa6\\x33\\x3e\\x12\\x08\\x0a\\x06\\x0a\\x04\\xae\\x47\\x61\\xbf\\x12\\x08\\x0a\\x06\\x0a\\x04\\xb3\\x90\\x05\\xbe\\x12\\x08\\x0a\\x06\\x0a\\x04\\x8b\\x2e\\x72\\x41\\x1a\\x02\\x00\\x01"},
            {"BuildSparseInequalitySplits", NULL,
             "int64[] 1; int32[0]; int64[0,2]; float[0]; float[0]; float[2] 1 2; int32[] -1; int32[] 0; int64[] -1; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1",
             "int32[0]; float[0]; string[0]"},
            {"BuildCategoricalEqualitySplits", NULL,
             "int64[] 1; int32[0]; int64[0,2]; float[0]; float[0]; int32[] -1; int32[] 0; int64[] -1; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1; int32[] 0",
             "int32[0]; float[0]; string[0]"},
            {"BuildDenseInequalitySplits", NULL,
             "int64[] 1; int32[2] 0 0; int64[2,2] 0 0 1 0; float[2] 1 2; float[2] 1 1; float[0]; int32[] -1; int32[] 0; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1; int32[] 0",
             "int32[0]; float[0]; string[0]"},
};

static const op_case errors[] = {
    {"BuildSparseInequalitySplits", NULL,
     "int64[] 1; int32[] 0; int64[] 0; float[] 0; float[] 0; float[] 1; int32[] -1; int32[] 0; int64[] -1; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1",
     "InvalidArgument: partition_ids must be a vector"},
    {"BuildCategoricalEqualitySplits", NULL,
     "int64[] 1; int32[] 0; int64[] 0; float[] 0; float[] 0; int32[] -1; int32[] 0; int64[] -1; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1; int32[] 0",
     "InvalidArgument: partition_ids must be a vector"},
    {"BuildDenseInequalitySplits", NULL,
     "int64[] 1; int32[2] 1 0; int64[2,2] 0 0 1 0; float[2] 1 2; float[2] 1 1; float[2] 1 2; int32[] -1; int32[] 0; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1; int32[] 0",
     "InvalidArgument: Input should be sorted"},
    {"BuildDenseInequalitySplits", NULL,
     "int64[] 1; int32[2] 0 0; int64[2,2] 7 0 8 0; float[2] 1 -2; float[2] 1 1; float[2] 1 2; int32[] -1; int32[] 0; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1; int32[] 0",
     "InvalidArgument: Bucket 7 is not within the 2 bucket_boundaries"},
    {"BuildDenseInequalitySplits", NULL,
     "int64[] 1; int32[2] 0 0; int64[2,2] 0 0 1 0; float[2] 1 2; float[2] 1 1; float[2] 1 2; int32[] -1; int32[] 0; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 0; int32[] 0",
     "InvalidArgument: Wrong multiclass strategy passed."},
    {"BuildDenseInequalitySplits", NULL,
     "int64[] 1; int32[2] 0 0; int64[2,2] 0 0 1 0; float[2] 1 2; float[2] 1 1; float[2] 1 2; int32[] -1; int32[] 0; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 3; int32[] 0",
     "InvalidArgument: Gradients and hessians do not have the ranks"},
    {"BuildDenseInequalitySplits", NULL,
     "int64[] 1; int32[2] 0 0; int64[2,2] 0 0 1 0; float[2] 1 2; float[2] 1 1; float[2] 1 2; int32[] -1; int32[] 0; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1; int32[] 5",
     "InvalidArgument: Unknown weak_learner_type 5"},
    {"BuildDenseInequalitySplits", NULL,
     "int64[] 1; int32[2] 0 0; int64[2,3] 0; float[2] 1 2; float[2] 1 1; float[2] 1 2; int32[] -1; int32[] 0; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1; int32[] 0",
     "InvalidArgument: The ids of a feature must be pairs"},
    {"BuildDenseInequalitySplits", NULL,
     "int64[] 1; int32[2] 0 0; int64[2,2] 0 0 1 0; float[2] 1 2; float[3] 1; float[2] 1 2; int32[] -1; int32[] 0; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1; int32[] 0",
     "InvalidArgument: gradients and hessians must have a row"},
    {"BuildDenseInequalitySplits", NULL,
     "int64[2] 1; int32[2] 0 0; int64[2,2] 0 0 1 0; float[2] 1 2; float[2] 1 1; float[2] 1 2; int32[] -1; int32[] 0; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1; int32[] 0",
     "InvalidArgument: num_minibatches must be a scalar"},
    {"BuildDenseInequalitySplits", NULL,
     "int64[] 1; int32[1] 0; int64[1,2] 0; float[1,2] 1; float[1,2] 1; float[1] 1; int32[] 4; int32[] 0; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 3; int32[] 0",
     "InvalidArgument: A leaf of class 4 has"},
    {"BuildSparseInequalitySplits", NULL,
     "int64[] 1; int32[3] 0; int64[3,2] 5 0 0 0 1 0; float[3] 1 2 3; float[3] 1; float[2] 1 2; int32[] -1; int32[] 0; int64[] -1; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1",
     "InvalidArgument: Bias feature ID missing."},
    {"BuildSparseInequalitySplits", NULL,
     "int64[] 1; int32[3] 0; int64[3,2] -1 1 0 0 1 0; float[3] 1 2 3; float[3] 1; float[2] 1 2; int32[] -1; int32[] 0; int64[] -1; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1",
     "InvalidArgument: Bias feature ID must be with dimension 0."},
    {"BuildSparseInequalitySplits", NULL,
     "int64[] 1; int32[3] 0; int64[3,2] -1 0 1 0 0 0; float[3] 1 2 3; float[3] 1; float[2] 1 2; int32[] -1; int32[] 0; int64[] -1; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1",
     "InvalidArgument: Bucket ids must be sorted."},
    {"BuildSparseInequalitySplits", NULL,
     "int64[] 1; int32[3] 0; int64[3,2] -1 0 -1 0 1 0; float[3] 1 2 3; float[3] 1; float[2] 1 2; int32[] -1; int32[] 0; int64[] -1; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1",
     "InvalidArgument: A partition has two bias slots."},
    {"BuildCategoricalEqualitySplits", NULL,
     "int64[] 1; int32[3] 0; int64[3,2] 4 0 0 0 1 0; float[3] 1 2 3; float[3] 1; int32[] -1; int32[] 0; int64[] -1; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1; int32[] 0",
     "InvalidArgument: Bias feature ID missing."},
    {"BuildCategoricalEqualitySplits", NULL,
     "int64[] 1; int32[3] 0; int64[3,2] 4 0 0 0 1 0; float[3] 1 2 3; float[3] 1; int32[] -1; int32[] 0; int64[] -1; float[] 0; float[] 1; float[] 0; float[] 0; int32[] 1; int32[] 1",
     "InvalidArgument: Bias feature ID missing."},
};

static void splits_are_those_of_the_largest_gain(void **state)
{
    (void)state;
    OP_TEST_VALUES(values);
}

static void sums_that_are_not_in_order_are_refused(void **state)
{
    (void)state;
    OP_TEST_VALUES(errors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_are_those_of_the_largest_gain),
        cmocka_unit_test(sums_that_are_not_in_order_are_refused),
    };
    return BD_RUN_TESTS(tests);
}
