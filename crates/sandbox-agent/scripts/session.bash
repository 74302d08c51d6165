# A shell that keeps its variables between runs. Requests come over descriptor 3, each text ended by a zero byte: path,
# folder, number of variables, variables. Each is answered by its status and a newline.
while IFS= read -r -d '' -u 3 __path && IFS= read -r -d '' -u 3 __cwd && IFS= read -r -d '' -u 3 __count; do
  while [ "$__count" -gt 0 ]; do
    IFS= read -r -d '' -u 3 __pair
    export "$__pair"
    __count=$((__count - 1))
  done
  if [ -n "$__cwd" ]; then cd -- "$__cwd"; fi
  source "$__path" 3>&-
  printf '%d\n' "$?" >&3
done
