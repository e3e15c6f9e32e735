#!/usr/bin/env bash
# The manifests of docs/kubernetes hold to Kubernetes' schemas, which pip installs in build/kubernetes.
. "$(dirname "$0")/lib.sh"
repository=$(dirname "$0")/../..
python=$repository/build/kubernetes/bin
[ -x "$python/python" ] || /usr/bin/python3 -m venv "$repository/build/kubernetes" >"$dir/log" 2>&1 || true
if ! [ -x "$python/kubernetes-validate" ] && ! "$python/pip" install -q kubernetes-validate >>"$dir/log" 2>&1; then
    echo "SKIPPED: needs kubernetes-validate, which pip cannot install: $(tail -n 1 "$dir/log")"
    exit 77
fi
"$python/kubernetes-validate" --strict "$repository/docs/kubernetes/statefulset.yaml" >"$dir/out" 2>"$dir/err"
check "the StatefulSet and its Job are valid" test $? = 0
# The schema of a TFJob is Kubeflow's; that of its pods is Kubernetes'.
sed -n '/^      template:$/,/^    [A-Z]/p' "$repository/docs/kubernetes/tfjob.yaml" | sed '/^    [A-Z]/d' >"$dir/templates"
check "a TFJob has two templates of pods" test "$(grep -c 'template:' "$dir/templates")" = 2
awk -v dir="$dir" '/template:/ { n++; file = dir "/pod" n ".yaml"
    printf "apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n" >file; next }
    { sub(/^        /, ""); print >file }' "$dir/templates"
for pod in "$dir"/pod*.yaml; do
    "$python/kubernetes-validate" --strict "$pod" >"$dir/out" 2>"$dir/err"
    check "a template of the TFJob is valid" test $? = 0
done
[ $failures = 0 ]
