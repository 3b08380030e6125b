# ladder.gnuplot BARS SVG TITLE - called by tests/bench/ladder. No background, greys and two strong colours: the picture
# is to be read on white and on black.
grey = "#808890"
set terminal svg size 920,460 dynamic enhanced font "sans-serif,13"
set output ARG2
set datafile missing "?"
set title ARG3 noenhanced textcolor rgb grey font ",12"
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.9 noborder
set boxwidth 0.95
set border 3 linecolor rgb grey
set xtics nomirror scale 0 textcolor rgb grey font ",11"
set ytics nomirror 0.2 textcolor rgb grey format "%.1f"
set yrange [0:1.2]
set ylabel "speed, ratio to cuBLAS in the same run" textcolor rgb grey
set grid ytics linetype 1 linecolor rgb grey linewidth 0.3
set bmargin 6
set key top left horizontal textcolor rgb grey
set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead linecolor rgb grey linewidth 2 front
set label 1 "cuBLAS" at graph 0.995, first 1.035 right textcolor rgb grey
two_digits(x) = sprintf("%.2f", x)
plot ARG1 using 2:xtic(1) title "8192 x 8192 x 8192" linecolor rgb "#3b82d6", \
     "" using 3 title "4096 x 4096 x 4096" linecolor rgb "#e08a2e", \
     "" using ($0-0.17):2:(two_digits($2)) with labels offset 0,0.6 font ",10" textcolor rgb grey notitle, \
     "" using ($0+0.17):3:(two_digits($3)) with labels offset 0,0.6 font ",10" textcolor rgb grey notitle
