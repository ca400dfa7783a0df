#!/bin/sh
# The null agent: <ledger> <seconds> <condition, or its MCP file> <prompt, or its file>; what follows is not read.
# It writes into the ledger that it was started and that it has answered, without the help of the harness.
condition=$3
if [ -f "$3" ]; then
    condition=without
    while read -r line || [ -n "$line" ]; do
        case $line in *null*) condition=with ;; esac
    done < "$3"
fi
prompt=$4
[ ! -f "$4" ] || read -r prompt < "$4"
run="${prompt%%:*} $condition"
echo "start $run" > "$1"
[ "$2" = 0 ] || sleep "$2"
printf 'It is forty-two, see `a.py`.\n\n## Report\n\n- **Tool calls**: 1\n- **Files used**: a.py\n'
echo "end $run" > "$1"
