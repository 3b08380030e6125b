# tap_summary.awk LOG...: reads what tests/tools/logged kept, prints every reason for which something was skipped and
# every program that broke off, and a closing line of counts. Exit status 1 if anything failed or nothing passed.

function end_of_program() {
    if (log_name == "") {
        return
    }
    if (exit_status == "") {
        broken("did not run to its end")
    } else if (planned == "") {
        broken("printed no plan")
    } else if (planned != seen) {
        broken("planned " planned " tests and ran " seen)
    } else if (exit_status != 0 && failed_here == 0) {
        broken("exit status " exit_status)
    }
}

function broken(text) {
    print "broken: " program ": " text
    failed++
}

function skip(reason) {
    sub(/.*# *[Ss][Kk][Ii][Pp][^ ]* */, "", reason)
    reason = program ": " reason
    if (!(reason in skips)) {
        order[++reasons] = reason
    }
    skips[reason]++
    skipped++
}

FILENAME != log_name {
    end_of_program()
    log_name = program = FILENAME
    planned = exit_status = ""
    seen = failed_here = 0
}

/^# program / { program = $3 }
/^# exit / { exit_status = $3 }
/^1\.\.[0-9]+/ {
    planned = substr($1, 4) + 0
    if (planned == 0) {
        skip($0)
    }
}
/^ok/ {
    seen++
    if ($0 ~ /# *[Ss][Kk][Ii][Pp]/) {
        skip($0)
    } else {
        passed++
    }
}
/^not ok/ {
    seen++
    failed++
    failed_here++
    print "failed: " program ": " $0
}

END {
    end_of_program()
    for (i = 1; i < ARGC; i++) {
        if (system("test -s " ARGV[i]) != 0) {
            program = ARGV[i]
            broken("left no log")
        }
    }
    for (i = 1; i <= reasons; i++) {
        printf "skipped: %s%s\n", order[i], (skips[order[i]] > 1 ? " (" skips[order[i]] " tests)" : "")
    }
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed > 0 || passed == 0
}
