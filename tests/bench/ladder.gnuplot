# ladder.gnuplot BARS SVG TITLE ROWS - called by tests/bench/ladder. No background, one grey for text and lines, strong
# colours for the rest: the picture is to be read on white and on black.
grey = "#7a828c"
set terminal svg size 1100,470 dynamic enhanced font "sans-serif,13"
set output ARG2
set datafile missing "?"
set title ARG3 noenhanced textcolor rgb grey font ",13"
set style data histograms
set style histogram clustered gap 1
set style fill solid 1.0 noborder
set boxwidth 0.92
set border 3 linecolor rgb grey
set xtics nomirror scale 0 textcolor rgb grey font ",12"
set ytics nomirror 0.2 textcolor rgb grey format "%.1f"
set xrange [-0.55:ARG4-0.45]
set yrange [0:1.2]
set ylabel "speed, ratio to cuBLAS in the same run" textcolor rgb grey
set grid ytics back linetype 1 linecolor rgb grey linewidth 0.3
set bmargin 5
set key top left horizontal textcolor rgb grey
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead linecolor rgb "#d0455b" linewidth 1.5 front
set label 1 "cuBLAS = 1" at graph 0.01, first 1.03 left textcolor rgb "#d0455b"
# A bar is 1 / (3 + gap) wide. Its figure stands inside it, below the line of cuBLAS; where it is too low, above it.
bar = 0.25
inside(x) = x < 0.1 ? 1/0 : (x < 0.995 ? x : 0.995) - 0.03
above(x) = x < 0.1 ? x + 0.03 : 1/0
inside_text(x) = sprintf("%.2f", x)
above_text(x) = sprintf("%.3f", x)
plot ARG1 using 2:xtic(1) title "8192 x 8192 x 8192" linecolor rgb "#4a90e2", \
     "" using 3 title "4096 x 4096 x 4096" linecolor rgb "#e08a2e", \
     "" using 4 title "2048 x 2048 x 2048" linecolor rgb "#34a882", \
     for [i=2:4] "" using ($0+(i-3)*bar):(inside(column(i))):(inside_text(column(i))) with labels font ",10" \
         textcolor rgb "#101418" notitle, \
     for [i=2:4] "" using ($0+(i-3)*bar):(above(column(i))):(above_text(column(i))) with labels font ",9" \
         textcolor rgb grey notitle
