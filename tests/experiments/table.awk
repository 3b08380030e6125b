# table.awk - the table of one experiment, from the CSVs of make experiments. Called by tests/experiments/page, as
# awk -F, -v wanted=EXPERIMENT -v plan=FILE CSV...
#
# The newest run counts: the latest date, then the last row. A run is what has the same GPU, date and commit. Of the same
# row twice the later counts. A ratio is to the last variant above that the plan marks by =, among exercises to their
# chapter. Variants come in the order of the plan; those that a run has and the plan has not, last.
# Exit status: 0, or 2 with one line on stderr.

BEGIN {
    header = "gpu,date,commit,experiment,variant,m,n,k,median,min,max,unit"
    while ((getline line <plan) > 0) {
        split(line, field, "|")
        for (i = 1; i <= 2; i++) {
            gsub(/^ +| +$/, "", field[i])
        }
        if (line !~ /^#/ && field[1] == wanted) {
            known = 1
            if (sub(/^= /, "", field[2])) {
                is_base[field[2]] = 1
            }
            variant[++variants] = field[2]
            is_variant[field[2]] = 1
        }
    }
    if (!known && wanted != "exercises") {
        fail("there is no experiment \"" wanted "\" in " plan)
    }
}

FNR == 1 {
    if ($0 != header) {
        fail(FILENAME " has the first line \"" $0 "\"; expected is \"" header "\"")
    }
    next
}
NF == 0 { next }
{
    if (NF != 12 || !is_number($9) || !is_number($10) || !is_number($11)) {
        fail(FILENAME ":" FNR ": \"" $0 "\" is not a row of \"" header "\"")
    }
}
$4 == wanted {
    run = $1 ", " $2 ", commit " $3
    if ($2 >= newest_date) {
        newest_date = $2
        newest = run
        file = FILENAME
    }
    if (!is_variant[$5]) {
        is_variant[$5] = 1
        variant[++variants] = $5
    }
    size = $6 "," $7 "," $8
    if (!((run, size) in seen)) {
        seen[run, size] = 1
        sizes[run] = sizes[run] (sizes[run] ? " " : "") size
    }
    if ($12 ~ /^(wrong|hang|error|refused|not built)$/) {
        instead[run, size, $5] = $12
        next
    }
    delete instead[run, size, $5]
    median[run, size, $5, $12] = $9
    least[run, size, $5] = $12 == "TFLOP/s" ? $10 : least[run, size, $5]
    most[run, size, $5] = $12 == "TFLOP/s" ? $11 : most[run, size, $5]
    if ($12 != "TFLOP/s" && $12 != "MHz" && !((run, $12) in has_unit)) {
        has_unit[run, $12] = 1
        units[run] = units[run] (units[run] ? "|" : "") $12
    }
}

END {
    if (failed) {
        exit 2
    }
    print ""
    if (!newest) {
        print "Not measured: no CSV in tests/experiments/results has this experiment."
        print ""
        exit 0
    }
    unit_count = split(units[newest], unit, "|")
    titles = "| variant | M x N x K | TFLOP/s | least to most | ratio | SM MHz |"
    rule = "| --- | --- | ---: | ---: | ---: | ---: |"
    for (u = 1; u <= unit_count; u++) {
        titles = titles " " unit[u] " |"
        rule = rule " ---: |"
    }
    print titles
    print rule
    size_count = split(sizes[newest], size_of, " ")
    for (s = 1; s <= size_count; s++) {
        size = size_of[s]
        first = 0
        for (v = 1; v <= variants; v++) {
            row(size, variant[v])
        }
    }
    print ""
    name = file
    sub(/.*\//, "", name)
    print "Measured: " newest " ([" name "](../" file "))."
    print ""
}

function row(size, name, tflops, text, u, key) {
    if ((newest, size, name) in instead) {
        print "| " name " | " shape(size) " | " instead[newest, size, name] " | | | |" repeated(" |", unit_count)
        return
    }
    if (!((newest, size, name, "TFLOP/s") in median)) {
        return
    }
    tflops = median[newest, size, name, "TFLOP/s"]
    if (!first || (name in is_base) || (wanted == "exercises" && name ~ /^[0-9][0-9]( |$)/)) {
        first = tflops
    }
    text = "| " name " | " shape(size) " | " figure(tflops) " | " figure(least[newest, size, name]) " to " \
           figure(most[newest, size, name]) " | " sprintf("%.3f", tflops / first) " | "
    text = text ((newest, size, name, "MHz") in median ? sprintf("%.0f", median[newest, size, name, "MHz"]) : "–") " |"
    for (u = 1; u <= unit_count; u++) {
        key = newest SUBSEP size SUBSEP name SUBSEP unit[u]
        text = text " " (key in median ? median[key] : "–") " |"
    }
    print text
}

function repeated(text, times, all) {
    while (times-- > 0) {
        all = all text
    }
    return all
}

function shape(size, part) {
    split(size, part, ",")
    return part[1] == part[2] && part[2] == part[3] ? part[1] "³" : part[1] " x " part[2] " x " part[3]
}

function figure(x) { return sprintf(x < 100 ? "%.1f" : "%.0f", x) }
function is_number(text) { return text ~ /^[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$/ }

function fail(text) {
    print "table.awk: " text >"/dev/stderr"
    failed = 1
    exit 2
}
