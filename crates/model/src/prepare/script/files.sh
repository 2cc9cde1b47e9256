
# Writes a file of ours from the standard input; one that is not ours is left alone.
write_file() {
    local path=$1 text
    text=$(cat)
    if [ -e "$path" ] && ! head -n 1 "$path" | grep -q '^# iobound prepare'; then
        die "$path is there already, and not from iobound"
    fi
    if [ -e "$path" ] && [ "$(cat "$path")" = "$text" ]; then
        say "already so: $path"
        return
    fi
    mkdir -p "$(dirname "$path")"
    printf '%s\n' "$text" >"$path"
    say "written: $path"
}

# Adds lines to a file that is not ours, unless it has the key in them already.
add_lines() {
    local path=$1 key=$2 text
    text=$(cat)
    if [ -e "$path" ] && grep -qiF -- "$key" "$path"; then
        say "already so: $path"
        return
    fi
    mkdir -p "$(dirname "$path")"
    # The last line may lack its line end.
    if [ -s "$path" ] && [ -n "$(tail -c 1 "$path")" ]; then echo >>"$path"; fi
    printf '%s\n' "$text" >>"$path"
    say "added to: $path"
}

# Sets a value of the kernel, and reads it back.
set_value() {
    local path=$1 value=$2 is
    if [ ! -e "$path" ]; then
        say "this kernel has no $path"
        return
    fi
    is=$(sed 's/.*\[\(.*\)\].*/\1/' "$path")
    if [ "$is" = "$value" ]; then
        say "already so: $path = $value"
        return
    fi
    printf '%s' "$value" >"$path"
    is=$(sed 's/.*\[\(.*\)\].*/\1/' "$path")
    if [ "$is" != "$value" ]; then
        echo "$path is $is, though $value was set" >&2
        exit 4
    fi
    say "set: $path = $value"
}
