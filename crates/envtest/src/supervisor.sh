# The supervisor of etcd and kube-apiserver in the tests of other projects. It reads a pipe whose other end only the process of the
# test holds. When that ends, even by SIGKILL, the supervisor stops the servers and removes their folder.
#
# Arguments: the folder, the log of etcd, the number of words of its command, the command; the log of kube-apiserver, its command.
# Prints `exited <program> exit status: <number>` when a server ends. Must run in the folder.
umask 077
folder=$1
shift
exec 3<&0

until_the_test_ends() {
  while read -r _; do :; done <&3
}

# Runs a server until it ends, or until the test does. Each process is ended by its parent or a sibling, while its id is valid.
serve() {
  name=$1 log=$2
  shift 2
  "$@" </dev/null >"$log" 2>&1 3<&- &
  server=$!
  echo "$name $server" >>pids
  {
    until_the_test_ends
    kill -TERM "$server"
    # Nothing is lost: the data is removed anyway.
    sleep 0.25 || sleep 1
    kill -KILL "$server"
  } >/dev/null 2>&1 &
  killer=$!
  wait "$server"
  status=$?
  kill "$killer"
  echo "exited $name exit status: $status"
}

etcd_log=$1 etcd_count=$2
shift 2
# The arguments of etcd come first, then those of kube-apiserver.
(
  count=$etcd_count
  for word; do
    shift
    [ "$count" -le 0 ] || set -- "$@" "$word"
    count=$((count - 1))
  done
  serve etcd "$etcd_log" "$@"
) &
shift "$etcd_count"
log=$1
shift
serve kube-apiserver "$log" "$@" &
until_the_test_ends
wait
cd /
exec rm -rf "$folder"
