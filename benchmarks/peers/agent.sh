#!/bin/sh
# The null agent: <ledger> <seconds> <condition, or the path of a file that only `with` has> <prompt, or its file>; what
# follows is not read.
# It writes into the ledger that it was started and that it has answered, without the help of the harness.
condition=$3
case $3 in
    /*) if [ -f "$3" ]; then condition=with; else condition=without; fi ;;
esac
prompt=$4
[ ! -f "$4" ] || read -r prompt < "$4"
run="${prompt%%:*} $condition"
echo "start $run" > "$1"
[ "$2" = 0 ] || sleep "$2"
printf 'It is forty-two, see `a.py`.\n\n## Report\n\n- **Tool calls**: 1\n- **Files used**: a.py\n'
echo "end $run" > "$1"
