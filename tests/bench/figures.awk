# figures.awk - makes one block of figures from CSVs of `make bench`, `make limits` and `make trace-cost`. Called by
# tests/bench/figures,
# as awk -F, -v block=... -v root=... -v directories=... CSV...
#
# block        ladder        a row for each chapter, cuBLAS and cuBLASLt at the three sizes of the ladder
#              shapes        a row for each of the ten shapes, ratios to cuBLAS
#              chapter NN    a row for each of the ten shapes, chapter NN beside the one before
#              sustained     without pauses: clock, power, energy
#              limits        what the chip can do at best
#              recording     how much slower a recorded launch is, and how busy its tensor cores: a row for each chapter
#              recording NN  the same of chapter NN at the size of its picture, as a sentence
#              bars          not Markdown: what tests/bench/ladder draws
# root         the way from the Markdown file to the top of the repository: "", "../", ...
# directories  of the chapters: "01_naive/ 02_smem_tiled/ ..."
#
# A run is what has the same GPU, date, commit and mode in one file; of the same row twice the later counts. The newest
# run of each mode is used. A run with pauses counts only if it is whole, that is, has cuBLAS and the chapters from 02
# at all ten shapes: so a bench of one shape changes no text. A chapter that no run has at all ten shapes, a new one, is
# not asked for; its rows are empty until it has been measured.
# Exit status: 0, or 2 with one line on stderr.

BEGIN {
    bench_header = "gpu,date,commit,mode,m,n,k,kernel,median_tflops,min_tflops,max_tflops,vs_cublas,sm_mhz,power_w"
    limits_header = "gpu,date,commit,limit,unit,median,min,max"
    recording_header = "gpu,date,commit,m,n,k,kernel,untraced_us,traced_us,slower_percent,events,lost,busy_percent," \
                       "flop_percent"
    picture = "4096,4096,1024" # the size of the recorded pictures
    bound_count = split("8192,8192,8192 4096,4096,4096 2048,2048,2048 16384,16384,16384 4096,14336,4096 " \
                        "8192,7168,2048 4096,4096,14336", bound, " ") # the seven compute-bound ones
    shape_count = split("8192,8192,8192 4096,4096,4096 2048,2048,2048 1024,1024,1024 16384,16384,16384 " \
                        "4096,14336,4096 8192,7168,2048 4096,4096,14336 512,7168,7168 128,8192,8192", shape, " ")
    ladder_count = 3 # the first three of them
    chapter_count = split(directories, name, " ")
    for (i = 1; i <= chapter_count; i++) {
        sub("/$", "", name[i])
        chapter[i] = substr(name[i], 1, 2)
    }
    none = "–"
}

FNR == 1 {
    if ($0 != bench_header && $0 != limits_header && $0 != recording_header) {
        fail(FILENAME " has the first line \"" $0 "\"; expected is \"" bench_header "\", \"" limits_header "\" or \"" \
             recording_header "\"")
    }
    is_limits = $0 == limits_header
    is_recording = $0 == recording_header
    next
}
NF == 0 { next }
is_recording {
    if (NF != 14 || !is_number($8) || !is_number($9) || !is_number($13) || !is_number($14)) {
        fail(FILENAME ":" FNR ": \"" $0 "\" is not a row of \"" recording_header "\"")
    }
    run = run_of("recording")
    size = $4 "," $5 "," $6
    if (!((run, size) in has_size)) {
        has_size[run, size] = 1
        recorded_size[run, ++size_count[run]] = size
    }
    timed_us[run, size, $7] = $8
    recorded_us[run, size, $7] = $9
    slower[run, size, $7] = $10
    by_events[run, size, $7] = $13
    by_flop[run, size, $7] = $14
    next
}
is_limits {
    if (NF != 8 || !is_number($6) || !is_number($7) || !is_number($8)) {
        fail(FILENAME ":" FNR ": \"" $0 "\" is not a row of \"" limits_header "\"")
    }
    run = run_of("limits")
    if (!((run, $4) in median)) {
        limit[run, ++limit_count[run]] = $4
    }
    median[run, $4] = $6
    least[run, $4] = $7
    most[run, $4] = $8
    unit[run, $4] = $5
    next
}
{
    if (NF != 14 || $4 !~ /^(paused|sustained)$/ || !is_number($9) || !is_number($10) || !is_number($11)) {
        fail(FILENAME ":" FNR ": \"" $0 "\" is not a row of \"" bench_header "\"")
    }
    run = run_of($4)
    size = $5 "," $6 "," $7
    if (!((run, size, $8) in median)) {
        row_shape[run, ++row_count[run]] = size
        row_kernel[run, row_count[run]] = $8
    }
    median[run, size, $8] = $9
    least[run, size, $8] = $10
    most[run, size, $8] = $11
    ratio[run, size, $8] = $12
    clock[run, size, $8] = $13
    power[run, size, $8] = $14
}

END {
    if (failed) {
        exit 2
    }
    words = split(block, word, " ")
    if (block == "ladder" || block == "shapes" || block == "bars" || (words == 2 && word[1] == "chapter")) {
        paused = newest("paused", "")
        if (!paused) {
            fail("no CSV has a whole run with pauses: cuBLAS and the chapters from 02 at all ten shapes")
        }
    }
    if (block == "ladder") {
        ladder()
    } else if (block == "shapes") {
        shapes()
    } else if (block == "bars") {
        bars()
    } else if (block == "sustained") {
        sustained()
    } else if (block == "limits") {
        limits()
    } else if (words == 2 && word[1] == "chapter") {
        chapter_rows(word[2])
    } else if (block == "recording") {
        recording()
    } else if (words == 2 && word[1] == "recording") {
        recording_sentence(word[2])
    } else {
        fail("there is no block \"" block "\"; accepted are ladder, shapes, chapter NN, sustained, limits, recording " \
             "and recording NN")
    }
}

# Ends the program, through END if rows are still being read.
function fail(text) {
    print text >"/dev/stderr"
    failed = 1
    exit 2
}

function is_number(text) { return text ~ /^[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$/ }

# The number of the run that this row belongs to.
function run_of(mode, key) {
    key = FILENAME SUBSEP $1 SUBSEP $2 SUBSEP $3 SUBSEP mode
    if (!(key in run_number)) {
        run_number[key] = ++run_count
        run_file[run_count] = FILENAME
        run_gpu[run_count] = $1
        run_date[run_count] = $2
        run_commit[run_count] = $3
        run_mode[run_count] = mode
    }
    run_last_row[run_number[key]] = NR
    return run_number[key]
}

# Does any run have this chapter at all ten shapes?
function is_measured(number, run, s) {
    for (run = 1; run <= run_count; run++) {
        for (s = 1; s <= shape_count && has(run, shape[s], number); s++) {
        }
        if (s > shape_count) {
            return 1
        }
    }
    return 0
}

function is_whole(run, i, s) {
    for (s = 1; s <= shape_count; s++) {
        if (!has(run, shape[s], "cublas")) {
            return 0
        }
        for (i = 1; i <= chapter_count; i++) {
            if (chapter[i] != "01" && !has(run, shape[s], chapter[i]) && is_measured(chapter[i])) {
                return 0
            }
        }
    }
    return 1
}

function has(run, size, kernel) { return (run, size, kernel) in median && is_number(ratio[run, size, kernel]) }

# The run of this mode with the latest date, among equals the one written last; 0 if there is none. gpu "": any.
function newest(mode, gpu, best, run) {
    best = 0
    for (run = 1; run <= run_count; run++) {
        if (run_mode[run] != mode || (gpu != "" && run_gpu[run] != gpu) || (mode == "paused" && !is_whole(run))) {
            continue
        }
        if (!best || run_date[run] > run_date[best] ||
            (run_date[run] == run_date[best] && run_last_row[run] > run_last_row[best])) {
            best = run
        }
    }
    return best
}

# ---- text ----

function shape_text(size, part) {
    split(size, part, ",")
    return part[1] == part[2] && part[2] == part[3] ? part[1] "³" : part[1] " x " part[2] " x " part[3]
}

function tflops_text(value) { return sprintf(value >= 99.95 ? "%.0f" : value >= 9.995 ? "%.1f" : "%.2f", value) }
function ratio_text(value) { return sprintf(value >= 0.0995 ? "%.3f" : "%.4f", value) }
function exact_text(value) { return sprintf(value >= 9.995 ? "%.1f" : "%.2f", value) }
function range_text(low, high) { return exact_text(low) " to " exact_text(high) }

function tflops_at(run, size, kernel) {
    return (run, size, kernel) in median ? tflops_text(median[run, size, kernel]) : none
}
function ratio_at(run, size, kernel) {
    return kernel == "cublas" ? "1" : has(run, size, kernel) ? ratio_text(ratio[run, size, kernel]) : none
}

# Geometric mean of the ratio over the compute-bound shapes, and the least of them: "1.013 [0.996]".
function mean_text(run, kernel, s, sum, count, low, value) {
    if (kernel == "cublas") {
        return "1"
    }
    for (s = 1; s <= bound_count; s++) {
        if (has(run, bound[s], kernel) && ratio[run, bound[s], kernel] > 0) {
            value = ratio[run, bound[s], kernel] + 0
            sum += log(value)
            low = !count || value < low ? value : low
            count++
        }
    }
    return count ? ratio_text(exp(sum / count)) " [" ratio_text(low) "]" : none
}

# What a mean over the compute-bound shapes had to leave out; "" if nothing.
function gaps_text(run, kernel, s, text, count) {
    for (s = 1; s <= bound_count; s++) {
        if (!has(run, bound[s], kernel)) {
            text = text (count++ ? ", " : "") shape_text(bound[s])
        }
    }
    if (count == bound_count) {
        return " " kernel " has not been measured yet."
    }
    return count ? " " kernel " was not run at " text ", and its mean is over the rest." : ""
}

function chapter_name(number, i) {
    for (i = 1; i <= chapter_count; i++) {
        if (chapter[i] == number) {
            return name[i]
        }
    }
    return ""
}

function link(file, text) {
    text = file
    sub(".*/", "", text)
    return "[" text "](" root file ")"
}

function source_text(run, mode) {
    return run_gpu[run] ", " run_date[run] ", commit " run_commit[run] ", mode " mode ": " link(run_file[run])
}

# "a,b,c" becomes the head of a table whose columns are right-aligned but for the first.
function head(titles, title, count, i, line) {
    count = split(titles, title, ",")
    for (i = 1; i <= count; i++) {
        printf "| %s ", title[i]
        line = line (i == 1 ? "| --- " : "| ---: ")
    }
    print "|"
    print line "|"
}

function bound_text(s, text) {
    for (s = 1; s <= bound_count; s++) {
        text = text (s == 1 ? "" : s == bound_count ? " and " : ", ") shape_text(bound[s])
    }
    return text
}

# ---- blocks ----

# The ceiling of this kernel's instruction on the same GPU, in TFLOP/s; 0 if there is none.
function ceiling(ceilings, kernel, i, instruction) {
    if (!ceilings || kernel == "01") {
        return 0
    }
    instruction = kernel ~ /^0[2-5]$/ ? "mma.sync " : "wgmma "
    for (i = 1; i <= limit_count[ceilings]; i++) {
        if (index(limit[ceilings, i], instruction) == 1) {
            return median[ceilings, limit[ceilings, i]]
        }
    }
    return 0
}

function ladder_row(label, kernel, ceilings, s, best) {
    printf "| %s |", label
    for (s = 1; s <= ladder_count; s++) {
        printf " %s |", tflops_at(paused, shape[s], kernel)
    }
    for (s = 1; s <= ladder_count; s++) {
        printf " %s |", ratio_at(paused, shape[s], kernel)
    }
    best = ceiling(ceilings, kernel)
    printf " %s | %s |\n", mean_text(paused, kernel),
           best && (paused, shape[1], kernel) in median ? \
               sprintf("%.2f", median[paused, shape[1], kernel] / best) : none
}

function ladder(ceilings, i, text) {
    ceilings = newest("limits", run_gpu[paused])
    print ""
    head("chapter,TFLOP/s at 8192³,4096³,2048³,ratio to cuBLAS at 8192³,4096³,2048³,mean of seven [least]," \
         "of the ceiling")
    for (i = 1; i <= chapter_count; i++) {
        ladder_row("[" name[i] "](" root name[i] "/)", chapter[i], ceilings)
        text = text gaps_text(paused, chapter[i])
    }
    ladder_row("cuBLAS", "cublas", ceilings)
    ladder_row("best of eight cuBLASLt", "cublaslt", ceilings)
    print ""
    print "Mean: the geometric mean of the ratio to cuBLAS over the seven compute-bound shapes, " bound_text() \
          "; in brackets the least of the seven." text
    if (ceilings) {
        print "Ceiling: the speed at 8192³ as a share of mma.sync alone (02 to 05; " \
              tflops_text(ceiling(ceilings, "02")) " TFLOP/s) or wgmma alone (06 to 08, cuBLAS; " \
              tflops_text(ceiling(ceilings, "08")) " TFLOP/s), from " \
              link(run_file[ceilings]) \
              (run_date[ceilings] != run_date[paused] || run_commit[ceilings] != run_commit[paused] ? \
               " of " run_date[ceilings] ", commit " run_commit[ceilings] : "") "."
    }
    print ""
    print source_text(paused, "paused")
    print ""
}

function shapes(i, s, titles, text) {
    print ""
    titles = "M x N x K,cuBLAS TFLOP/s"
    for (i = 1; i <= chapter_count; i++) {
        titles = titles "," chapter[i]
        text = text gaps_text(paused, chapter[i])
    }
    head(titles ",cuBLASLt")
    for (s = 1; s <= shape_count; s++) {
        printf "| %s | %s |", shape_text(shape[s]), tflops_at(paused, shape[s], "cublas")
        for (i = 1; i <= chapter_count; i++) {
            printf " %s |", ratio_at(paused, shape[s], chapter[i])
        }
        printf " %s |\n", ratio_at(paused, shape[s], "cublaslt")
    }
    printf "| mean of seven [least] | |"
    for (i = 1; i <= chapter_count; i++) {
        printf " %s |", mean_text(paused, chapter[i])
    }
    printf " %s |\n", mean_text(paused, "cublaslt")
    print ""
    print "Ratios to cuBLAS; cuBLASLt is the best of eight algorithms. Mean: geometric, over all but 1024³, " \
          "512 x 7168 x 7168 and 128 x 8192 x 8192." text
    print ""
    print source_text(paused, "paused")
    print ""
}

function chapter_rows(number, i, s, before, size, titles) {
    if (!chapter_name(number)) {
        fail("there is no chapter \"" number "\"; chapters are " directories)
    }
    for (i = 2; i <= chapter_count; i++) {
        if (chapter[i] == number) {
            before = chapter[i - 1]
        }
    }
    print ""
    titles = "M x N x K," number " TFLOP/s,least to most,ratio to cuBLAS"
    head(before ? titles "," before " TFLOP/s," before " ratio," number " / " before : titles)
    for (s = 1; s <= shape_count; s++) {
        size = shape[s]
        if ((paused, size, number) in median) {
            printf "| %s | %s | %s | %s |", shape_text(size), exact_text(median[paused, size, number]),
                   range_text(least[paused, size, number], most[paused, size, number]), ratio_at(paused, size, number)
        } else {
            printf "| %s | %s | %s | %s |", shape_text(size), none, none, none
        }
        if (before) {
            printf " %s | %s | %s |",
                   (paused, size, before) in median ? exact_text(median[paused, size, before]) : none,
                   ratio_at(paused, size, before),
                   (paused, size, number) in median && (paused, size, before) in median ? \
                       sprintf("%.2f", median[paused, size, number] / median[paused, size, before]) : none
        }
        print ""
    }
    printf "| mean of seven [least] | | | %s |", mean_text(paused, number)
    if (before) {
        printf " | %s | |", mean_text(paused, before)
    }
    print "\n"
    print "Mean: geometric, over all but 1024³, 512 x 7168 x 7168 and 128 x 8192 x 8192." gaps_text(paused, number) \
          (before ? gaps_text(paused, before) : "")
    print ""
    print source_text(paused, "paused")
    print ""
}

# Watts over TFLOP/s are joules per TFLOP.
function energy(run, size, kernel) {
    return power[run, size, kernel] > 0 ? power[run, size, kernel] / median[run, size, kernel] : 0
}

function sustained(run, i, size, kernel, joules, peer) {
    run = newest("sustained", "")
    if (!run) {
        fail("no CSV has rows of mode sustained; make bench ARGS=--sustained writes them")
    }
    print ""
    head("kernel,M x N x K,TFLOP/s,least to most,ratio to cuBLAS,SM clock in MHz,power in W,J per TFLOP,ratio of J")
    for (i = 1; i <= row_count[run]; i++) {
        size = row_shape[run, i]
        kernel = row_kernel[run, i]
        joules = energy(run, size, kernel)
        peer = (run, size, "cublas") in median ? energy(run, size, "cublas") : 0
        printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", kernel_text(kernel), shape_text(size),
               exact_text(median[run, size, kernel]), range_text(least[run, size, kernel], most[run, size, kernel]),
               ratio_at(run, size, kernel), (clock[run, size, kernel] > 0 ? clock[run, size, kernel] + 0 : none),
               joules ? power[run, size, kernel] + 0 : none, joules ? sprintf("%.3f", joules) : none,
               (kernel == "cublas" ? "1" : joules && peer ? sprintf("%.3f", joules / peer) : none)
    }
    print ""
    print source_text(run, "sustained")
    print ""
}

function kernel_text(kernel) {
    return chapter_name(kernel) ? "[" chapter_name(kernel) "](" root chapter_name(kernel) "/)" : \
           kernel == "cublas" ? "cuBLAS" : kernel == "cublaslt" ? "best of eight cuBLASLt" : kernel
}

function limits(run, i, what) {
    run = newest("limits", "")
    if (!run) {
        fail("no CSV has ceilings; the rows that make limits prints are to be kept in tests/bench/results")
    }
    print ""
    head("alone,median,least to most,unit")
    for (i = 1; i <= limit_count[run]; i++) {
        what = limit[run, i]
        printf "| %s | %s | %s to %s | %s |\n", what, median[run, what], least[run, what], most[run, what],
               unit[run, what]
    }
    print ""
    print source_text(run, "paused")
    print ""
}

function recording_run(run) {
    run = newest("recording", "")
    if (!run) {
        fail("no CSV says what recording costs; make trace-cost writes one")
    }
    return run
}

# 01 leaves the tensor cores alone.
function busy_text(percent) { return percent > 0 ? sprintf("%.1f", percent) : none }

function recording(run, i, s, size) {
    run = recording_run()
    print ""
    head("chapter,M x N x K,timed in µs,recorded in µs,slower by %,tensor cores busy by events in %,by FLOP in %")
    for (s = 1; s <= size_count[run]; s++) {
        for (i = 1; i <= chapter_count; i++) {
            size = recorded_size[run, s]
            if ((run, size, chapter[i]) in slower) {
                printf "| [%s](%s%s/) | %s | %.1f | %.1f | %.1f | %s | %s |\n", name[i], root, name[i],
                       shape_text(size), timed_us[run, size, chapter[i]], recorded_us[run, size, chapter[i]],
                       slower[run, size, chapter[i]], busy_text(by_events[run, size, chapter[i]]),
                       busy_text(by_flop[run, size, chapter[i]])
            }
        }
    }
    print ""
    print run_gpu[run] ", " run_date[run] ", commit " run_commit[run] ": " link(run_file[run])
    print ""
}

# cost.c takes the variant of the picture where 08 is recorded at the size of the picture.
function recording_sentence(number, run) {
    if (!chapter_name(number)) {
        fail("there is no chapter \"" number "\"; chapters are " directories)
    }
    run = recording_run()
    print ""
    if (!((run, picture, number) in slower)) {
        print "What recording costs this chapter has not been measured yet."
    } else {
        printf "Recording makes a launch of %s%s %.1f %% slower", shape_text(picture),
               number == "08" ? ", variant pingpong_128x192 as in the picture," : "", slower[run, picture, number]
        if (by_flop[run, picture, number] > 0) {
            printf ";\nin the recorded one the tensor cores are busy for %.1f %% of the time by the events and %.1f %% by " \
                   "FLOP", by_events[run, picture, number], by_flop[run, picture, number]
        }
        printf "\n(%s, %s; [all chapters](%stests/timeline/README.md#what-recording-costs)).\n", run_gpu[run],
               run_date[run], root
    }
    print ""
}

# Line 1: file, commit, what the picture says on top. Then for each chapter: label, ratio at each size of the ladder.
function bars(i, s, label, file) {
    file = run_file[paused]
    sub(".*/", "", file)
    printf "%s\t%s\t%s, %s, commit %s; cuBLAS", file, run_commit[paused], run_gpu[paused], run_date[paused],
           run_commit[paused]
    for (s = 1; s <= ladder_count; s++) {
        printf "%s %s", (s == 1 ? "" : s == ladder_count ? " and" : ","),
               tflops_text(median[paused, shape[s], "cublas"])
    }
    print " TFLOP/s"
    for (i = 1; i <= chapter_count; i++) {
        if (!is_measured(chapter[i]) && chapter[i] != "01") {
            continue
        }
        label = name[i]
        sub("_", "\n", label)
        gsub("_", " ", label)
        gsub("[ \n]", "\\n", label)
        printf "\"%s\"", label
        for (s = 1; s <= ladder_count; s++) {
            printf " %s", has(paused, shape[s], chapter[i]) ? ratio[paused, shape[s], chapter[i]] : "?"
        }
        print ""
    }
}
