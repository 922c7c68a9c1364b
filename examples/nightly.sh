#!/usr/bin/env bash
# For cron, or any scheduler that reads exit codes: check, then load only what holds its rules.
#
#     examples/nightly.sh demo/orders.csv demo/rules.yaml out
#
# holdfast check ends with   0  every rule holds                      -> load
#                            1  a rule is violated                    -> stop here, the data has to be corrected
#                            2  wrong use, or input that is not there -> alert whoever runs the pipeline
#                            3  a failure while running               -> alert whoever runs the pipeline
# and this script with the same code. `out/verdict.txt` has what was found, `out/report.html` the same to look at.
set -uo pipefail   # not -e: an exit code is what we are after

data=$1 rules=$2 out=$3
mkdir -p "$out"

load() { # stands for whatever comes next
    cp "$data" "$out/loaded.csv"
}

alert() { # stands for whatever calls somebody
    echo "ALERT: $*" >&2
}

holdfast check "$data" "$rules" --key order_id --quiet --output "$out/verdict.txt" --report "$out/report.html" \
    2>"$out/messages.txt"
code=$?

case $code in
    0)
        load
        ;;
    1)
        echo "rules are violated, nothing was loaded:" >&2
        tail -n 2 "$out/verdict.txt" >&2
        ;;
    *)
        alert "the check of $data could not be made (exit code $code): $(head -n 1 "$out/messages.txt")"
        ;;
esac
exit $code
