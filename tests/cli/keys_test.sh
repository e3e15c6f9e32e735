#!/usr/bin/env bash
# `braid keys`, also to revoke, and a cluster that speaks TLS with the certificates that it makes.
set -u
braid=$1/braid
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
keys=$dir/keys
failures=0

check() { # check WHAT COMMAND...
    local what=$1
    shift
    if "$@" >"$dir/out" 2>&1; then echo "ok: $what"; else
        echo "FAILED: $what: $(cat "$dir/out")"; failures=$((failures + 1))
    fi
}

fails() { # fails WHAT CODE EXPECTED COMMAND...: it exits with CODE and says EXPECTED
    local what=$1 expected_code=$2 expected=$3 code
    shift 3
    "$@" >"$dir/error" 2>&1
    code=$?
    check "$what" test "$code" = "$expected_code"
    check "$what: the error" grep -F -- "$expected" "$dir/error"
}

keys() { "$braid" keys "$@"; }
shows() { grep -qE "$1" <<<"$("$braid" keys show "$2")"; }
mode() { stat -c %a "$1"; }

check "an authority is made" keys new "$keys"
fails "a second one takes no place that is taken" 1 "is there and is not empty" keys new "$keys"
check "a task's certificate is made" keys --role task add "$keys" ps0
check "options may stand behind the words" keys add "$keys" behind --role viewer
check "and between them" keys add --role viewer "$keys" behind
rm -r "${keys:?}/behind"
check "a client's certificate is made" keys --role client --days 30 add "$keys" alice
check "only the user enters the directories and reads the keys" \
    test "$(mode "$keys") $(mode "$keys/ca.key") $(mode "$keys/ps0") $(mode "$keys/ps0/key.pem")" = "700 600 700 600"
check "the task is listed" shows '^ps0 +task +until [0-9-]+, 36[45] days$' "$keys"
check "the client is listed" shows '^alice +client +until [0-9-]+, (29|30) days$' "$keys"
check "a directory for --tls-dir is listed, too" shows '^authority ' "$keys/alice"

key=$(cat "$keys/alice/key.pem") certificate=$(cat "$keys/alice/cert.pem")
check "a certificate is renewed" keys add "$keys" alice
check "it keeps its key" test "$key" = "$(cat "$keys/alice/key.pem")"
check "it is another certificate" test "$certificate" != "$(cat "$keys/alice/cert.pem")"
check "it keeps its role, for a year" shows '^alice +client +until [0-9-]+, 36[45] days$' "$keys"

fails "a new certificate needs a role" 1 "needs a role: task, client or viewer" keys add "$keys" bob
fails "a name is no path" 1 "'../bob' cannot be the name" keys --role client add "$keys" ../bob
fails "a role must be known" 2 "'root' is no role" keys --role root add "$keys" bob
fails "an authority is needed" 1 "braid keys new $dir" keys --role client add "$dir" bob
fails "an action is needed" 2 "See 'braid keys --help'" keys
check "nothing was made for bob" test ! -e "$keys/bob"

server=("$braid" server --cluster '{"ps": ["10.0.0.1:1"]}' --job ps --task 0)
fails "a server needs a task's certificate" 1 "A server needs a certificate of the role task" \
    "${server[@]}" --tls-dir "$keys/alice"
BRAID_TLS_DIR=$dir/none fails "the environment is named in errors" 1 "BRAID_TLS_DIR: cannot open $dir/none/ca.pem" \
    "${server[@]}"

# ---- Revoking: alice's certificate was renewed above, and bob has one that is not touched ----

check "a second client" keys --role client add "$keys" bob
cp -r "$keys/alice" "$dir/stolen"
check "alice's is renewed again" keys add "$keys" alice
check "it is revoked" keys revoke "$keys" alice
cp "$dir/out" "$dir/said"
check "who must do what is said" grep -F "copy $keys/crl.pem to the directories" "$dir/said"
check "the authority shows it" shows '^alice +client +REVOKED$' "$keys"
check "and not the others" shows '^bob +client +until' "$keys"
fails "show exits with 1" 1 "A holder of what is revoked gets a new one" sh -c "'$braid' keys show '$keys'"
check "each directory of a name has the list" cmp "$keys/crl.pem" "$keys/ps0/crl.pem"
fails "it is of no use any more" 1 "alice/cert.pem is revoked" \
    "$braid" connect --tls-dir "$keys/alice" 127.0.0.1:1
check "revoking it again is harmless" keys revoke "$keys" alice
cp "$keys/crl.pem" "$dir/stolen"
check "the certificate before the renewal is revoked, too" shows '^alice +client +REVOKED$' "$dir/stolen"
if command -v openssl >"$dir/out"; then
    openssl verify -CAfile "$keys/ca.pem" -crl_check -CRLfile "$keys/crl.pem" "$keys/bob/cert.pem" >"$dir/verified" 2>&1
    check "OpenSSL takes the list" grep -F "bob/cert.pem: OK" "$dir/verified"
    openssl verify -CAfile "$keys/ca.pem" -crl_check -CRLfile "$keys/crl.pem" "$keys/alice/cert.pem" >"$dir/verified" 2>&1
    check "OpenSSL refuses what it revokes" grep -F "certificate revoked" "$dir/verified"
fi
check "alice gets a new one" keys add "$keys" alice
check "it has another key" test "$key" != "$(cat "$keys/alice/key.pem")"
check "and the same role" shows '^alice +client +until [0-9-]+, 36[45] days$' "$keys"
check "with the list beside it" cmp "$keys/crl.pem" "$keys/alice/crl.pem"
check "bob's is revoked, too" keys revoke "$keys" bob
check "alice's new one is not" shows '^alice +client +until' "$keys/alice"
check "her old one stays so" sh -c "cp '$keys/crl.pem' '$dir/stolen' && ! '$braid' keys show '$dir/stolen'"
fails "nobody has this name" 1 "has made no certificate for 'carol'" keys revoke "$keys" carol
fails "an authority is needed to revoke" 1 "is not the directory of an authority" keys revoke "$dir" alice
check "another authority" keys new "$dir/other"
check "revokes a name of its own" sh -c "'$braid' keys --role client add '$dir/other' x && '$braid' keys revoke '$dir/other' x"
keys --role client add "$dir/other" y >"$dir/out" && rm "$dir/other/issued" # as an earlier version made it
check "the present certificate needs no record to be revoked" keys revoke "$dir/other" y
check "what was revoked before stays so" sh -c "'$braid' keys show '$dir/other' | grep -c REVOKED | grep -x 2"
cp "$dir/other/crl.pem" "$dir/stolen"
fails "a list of another authority is none" 1 "stolen/crl.pem was not signed by the authority of the ca.pem beside it" \
    "${server[@]}" --tls-dir "$dir/stolen"
echo "no list" >"$dir/stolen/crl.pem"
fails "nor is what is no list" 1 "stolen/crl.pem holds no revocation list" "${server[@]}" --tls-dir "$dir/stolen"

export BRAID_TLS_DIR=$keys/ps0
check "a cluster trains over TLS" "$braid" run --ps 1 --workers 2 mnist_replica --train_steps=100
exit $((failures > 0))
