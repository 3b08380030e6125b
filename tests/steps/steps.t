#!/usr/bin/perl
# The stepping pages that `make steps` has written: do their data say what the model's own --barriers says, and the
# small ones what is computed here otherwise? Then, where Chromium is installed, each page in it, from disk: it loads
# without an error, and keys, buttons, slider and hash move it; at every frame the barriers in the page are those of the
# model. Last, each kind of fault is put in, and must be seen.
use strict;
use warnings;
use feature 'signatures';
no warnings 'experimental::signatures';
use File::Temp qw(tempdir);
use JSON::PP;
use MIME::Base64;
use Test::More;
require './tests/tools/patches';
*contents = \&Patches::contents;
*store = \&Patches::store;

my $B = $ENV{B} or die "steps.t needs B, the build directory: make test sets it\n";
my $PAGES = 'build/book/steps';
my ($CHROMIUM) = grep { -x } map { ("/usr/bin/$_", "/usr/local/bin/$_") } qw(chromium chromium-browser google-chrome);
my $scratch = tempdir(CLEANUP => 1);

# The data of a page.
sub data ($name) {
    my ($json) = contents("$PAGES/$name.js") =~ /\Asteps_data\("\Q$name\E", (.*)\);\s*\z/s or die "$name.js is no call of steps_data()\n";
    return decode_json($json);
}

sub all_of { return map { s{.*/(.*)\.js$}{$1}r } sort glob "$PAGES/$_[0].js" }

# ---- what the model says

my (%data, %rows);
my %options = contents('book/steps/steps.mk') =~ /^STEPS_RUN_(\d\d) := (.*)$/mg;

# What --barriers prints in the run of a page, as a list of [name, phase, pending, tx]; of its waits nothing, of a pair
# both CTAs.
sub told_by_model ($name) {
    my ($number, $bug) = $name =~ /^(?:bug_|variant_)?(\d\d)_(\w+)$/;
    my ($chapter) = Patches::chapter_of($number) =~ m{([^/]+)$};
    my ($directory, $program, $run) = ('.', "$B/patches/$chapter", $options{$number});
    if ($name =~ /^bug_/) {
        ($directory, $program) = ("build/bugs/${number}_$bug", './program');
        chomp($run = `tests/tools/patches show bugs/${number}_$bug run`);
    } elsif ($name =~ /^variant_/) {
        ($directory, $program) = ("build/experiments/${number}_$bug", './program');
    }
    my @rows;
    for (`cd $directory && $program --on model --data integers $run --barriers 2>/dev/null`) {
        my ($cta, $barrier, $event, $phase, $expected, $actual, $announced, $brought) =
            /^ *\d+ +(\d+) (\S+) +(\S.*?) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+)$/ or next;
        next if $cta >= $data{$name}{ctas} || $event =~ /^(?:wait|asked)/;
        $barrier .= " of CTA $cta" if $data{$name}{ctas} > 1;
        push @rows, $event eq 'phase complete' ? [ $barrier, $phase + 1, $expected, 0 ]
            : [ $barrier, $phase, $expected - $actual, $announced - $brought ];
    }
    return @rows;
}

# The barriers after this many rows: name => "phase pending tx".
sub barriers_after ($count, @rows) {
    my %now;
    for (@rows[0 .. $count - 1]) {
        my ($name, @state) = @{ $_ // ['?'] };
        $now{$name} = "@state";
    }
    return \%now;
}

# Frames at which these barriers are not the model's: [{name => "phase pending tx"} for each frame]. A page counts bytes
# of whole boxes, so it may miss more than the model while some are on their way, but not of a phase that has just
# begun.
sub differing ($data, $shown, @rows) {
    my @wrong;
    for my $i (0 .. $#{ $data->{frames} }) {
        my $model = barriers_after($data->{frames}[$i]{rows}, @rows);
        my $page = $shown->[$i] // {};
        push @wrong, $i if "@{[ sort keys %$model ]}" ne "@{[ sort keys %$page ]}" || grep {
            my ($says, $tx, $shows, $shown_tx) = map { /(.*) (\S+)$/ } $model->{$_}, $page->{$_};
            $says ne $shows || $shown_tx < $tx || $tx == 0 && $shown_tx > 0;
        } keys %$model;
    }
    return @wrong;
}

# The barriers at each frame of the data.
sub barriers_of ($data) {
    my ($now, @all) = ({});
    for (@{ $data->{frames} }) {
        $now = $_->{barriers} // $now;
        push @all, { map { $_ => "@{ $now->{$_} }[0, 2, 3]" } keys %$now };
    }
    return \@all;
}

# ---- data

my @runs = (all_of('[01]*'), all_of('bug_*'), all_of('variant_*'));
my @small = qw(two_loads parity);
$data{$_} = data($_) for @runs, @small;
cmp_ok(scalar(grep { /^bug_/ } @runs), '>=', 10, 'ten bugs or more');
is(scalar(grep { /^\d/ } @runs), 6, 'six chapters');

for my $name (@runs) {
    my $data = $data{$name};
    $rows{$name} = [ told_by_model($name) ];
    my $frames = @{ $data->{frames} };
    my $least = $name =~ /^bug_/ ? 4 : 40;
    ok($frames >= $least && $frames <= 220, "$name: $frames frames are few enough, and not too few");
    is_deeply([ differing($data, barriers_of($data), @{ $rows{$name} }) ], [], "$name: its barriers are those of --barriers");
    if ($name =~ /^bug_(\d\d)_(\w+)/) {
        my ($chapter) = glob "$1_*";
        my ($verdict) = contents("$chapter/bugs/$2.patch") =~ /^# verdict: *(.*)/m;
        ok((grep { $_ eq $data->{report}{rule} } split / or /, $verdict),
            "$name: its report is the one of the patch, $data->{report}{rule}");
        is($data->{frames}[-1]{say}[0]{f}, 'report', "$name: the last frame is the report");
    } else {
        is($data->{frames}[-1]{rows}, scalar @{ $rows{$name} }, "$name: all that --barriers has is in it");
    }
}

# Every stage is loaded before it is full, full before it is read, and its bytes are all there by then.
for my $name (grep { !/^bug_/ } @runs) {
    my (%before, @wrong, $now);
    my %next = (none => 'loading', loading => 'loading full', full => 'full reading', reading => 'reading read free',
        read => 'read free reading', free => 'free loading');
    for my $i (0 .. $#{ $data{$name}{frames} }) {
        $now = $data{$name}{frames}[$i]{stages} or next;
        for my $stage (0 .. $#$now) {
            my $state = $now->[$stage] ? $now->[$stage]{state} : 'none';
            my $was = $before{$stage} // 'none';
            push @wrong, "frame $i: stage $stage from $was to $state" if $state ne $was && $next{$was} !~ /\b$state\b/;
            push @wrong, "frame $i: stage $stage is $state while it is read"
                if $state =~ /^(?:free|loading)$/ && $now->[$stage] && @{ $now->[$stage]{by} };
            push @wrong, "frame $i: stage $stage is $state without its bytes"
                if $state =~ /^(?:full|reading)$/ && grep { $_->[0] != $_->[1] } values %{ $now->[$stage]{loaded} };
            $before{$stage} = $state;
        }
    }
    is_deeply(\@wrong, [], "$name: stages change as a ring's do");
}

# A pair: 8 k-tiles, half of their bytes in each CTA, all counted by CTA 0; products of both; what tells both tells each
# at its own.
{
    my (%seen, @wrong);
    for my $fact (map { @{ $_->{say} } } @{ $data{'15_pair'}{frames} }) {
        my ($what, $home) = ($fact->{barrier} // '') =~ /^(\w+).* of CTA (\d)/;
        $seen{"$fact->{map} in CTA $fact->{cta}, $what of CTA $home"} += $fact->{amount} if $fact->{f} eq 'landed';
        $seen{"$fact->{f}, $what of CTA $home"}++ if $fact->{f} =~ /^(?:commit|cancel)$/;
        push @wrong, "@{ $fact->{stages} }" if $fact->{f} eq 'mma' && $fact->{stages}[1] - $fact->{stages}[0] != 6;
    }
    is_deeply(\%seen, { map { my $cta = $_; ("A in CTA $cta, full of CTA 0" => 8 * 16384, "B in CTA $cta, full of CTA 0" => 8 * 16384,
        "answer in CTA $cta, answer_full of CTA $cta" => 2 * 16, "cancel, answer_full of CTA $cta" => 2,
        "commit, empty of CTA $cta" => 8, "commit, acc_full of CTA $cta" => 2) } 0, 1 }, '15_pair: what lands where, and counts at whose barrier');
    is_deeply(\@wrong, [], '... and a product reads the same stage of both');
}

# The small pages.
my $parity = $data{parity}{frames};
is_deeply([ map { $_->{passes} } @$parity ], [ map { my $phase = int($_ / 2); $phase % 2 != $_ % 2 ? 1 : 0 } 0 .. 5 ],
    'parity: a wait passes if the phase under way has the other parity');
is_deeply([ map { $_->{phase} } @$parity ], [ 0, 0, 1, 1, 2, 2 ], 'parity: phases 0, 1 and 2');
my $loads = $data{two_loads}{frames};
is_deeply([ sort { $a <=> $b } map { $_->{phase} } grep { $_->{f} eq 'complete' } map { @{ $_->{say} } } @$loads ], [ 0, 1 ],
    'two_loads: two phases complete');

# The first hour's page tells of frames by number, counted from 1: each must be of the barrier that its row names.
{
    my (%rows, @wrong) = (contents('book/start_here.md') =~ /^\| (\d[\d, ]*) \| (`[^|]*`) \|/mg);
    for my $row (keys %rows) {
        my @barriers = $rows{$row} =~ /`([^`]+)`/g;
        for my $frame (split /, /, $row) {
            my $named = shift @barriers // '';
            push @wrong, "$frame: $named" if !grep { ($_->{barrier} // '') eq $named } @{ $data{'07_warp_specialized'}{frames}[ $frame - 1 ]{say} };
        }
    }
    cmp_ok(scalar keys %rows, '>=', 10, 'start_here.md: it tells of ten frames or more');
    is_deeply(\@wrong, [], '... and each is of the barrier that its row names');
}

# Seen: a wrong phase in the data.
{
    my $wrong = decode_json(encode_json($data{'07_warp_specialized'}));
    my ($frame) = grep { $_->{barriers} } @{ $wrong->{frames} }[20 .. 40];
    $frame->{barriers}{'full[1]'}[0]++;
    isnt(scalar(differing($wrong, barriers_of($wrong), @{ $rows{'07_warp_specialized'} })), 0, 'seen: a wrong phase in the data');
}

# index.html leads to pages that are there.
my @links = contents("$PAGES/index.html") =~ /href="([^"?]+\.html)"/g;
is_deeply([ grep { !-s "$PAGES/$_" } @links ], [], 'index.html: no link leads nowhere');
is(scalar @links, 1 + @small + grep({ !/^variant_/ } @runs), 'index.html: a link to each page');

# The page on which one thing is changed: each button has its run, and says how that ended. One stage does not compile.
{
    my @choices = map { @{ $_->{runs} } } @{ data('change')->{rows} };
    is_deeply([ grep { $_->[0] && !-s "$PAGES/$_->[0].js" } @choices ], [], 'change: each value has its run');
    my %ends = map { $_->[2] => 1 } @choices;
    is_deeply([ grep { !$ends{$_} } qw(right DEADLOCK RACE_WAR RACE_RAW PROXY_FENCE) ], [], '... some are right, hang, race, and lack a fence');
    is_deeply([ grep { $_->[0] && (($data{ $_->[0] }{report} // {})->{rule} // $_->[2]) ne $_->[2] } @choices ], [], '... as their reports say');
    like(contents('07_warp_specialized/07_warp_specialized.cu'), qr/^static_assert\(STAGES >= 2,/m, '... and a ring of one is refused');
}

# ---- in a browser

SKIP: {
    skip 'chromium is not installed: the pages are not opened in a browser', 1 if !$CHROMIUM;

    # The driver goes through all frames by the key, on pages that are to be walked through, then does what Perl says
    # and writes down what it sees. Then it opens the next page.
    my $driver = <<'END';
const number_of_page = Number(localStorage.getItem("page") || 0), [, walks, ways] = pages[number_of_page];
const ask = (async () => {}).constructor;
localStorage.setItem("page", number_of_page + 1);
console.log("page " + number_of_page);
window.addEventListener("load", () => setTimeout(async () => {
  const all = [...document.querySelectorAll("div.step")], box = all[0], seen = { frames: [], say: [], ways: {} };
  const press = (key, at) => (at || document.body).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const frame = () => Number(box.dataset.frame), frames = () => all.map((one) => one.dataset.frame).join(" ");
  const button = (action) => box.querySelector(`button[data-action="${action}"]`);
  const slider = document.querySelector("div.step input"), count = Number(slider?.max) + 1;
  const wait = (ms) => new Promise((go) => setTimeout(go, ms));
  const rows = () => Object.fromEntries([...box.querySelectorAll("tr[data-barrier]")].map((row) => [row.dataset.barrier,
    `${row.cells[1].firstChild.textContent} ${/\d+/.exec(row.cells[2].textContent)[0]} ${row.dataset.tx}`]));
  const look = () => { seen.frames[frame()] = rows(); seen.say[frame()] = box.querySelector(".step-say").textContent;
    if (/undefined|NaN|\[object/.test(box.textContent)) seen.bad = frame();
    if (frame() % 10 === 0 && box.scrollWidth > box.clientWidth + 1) seen.wide = frame(); };
  try {
    if (walks) {
      document.body.style.width = "336px"; /* of a phone's 360 */
      look();
      for (let i = 1; i < count; i++) { press("ArrowRight"); look(); }
      const report = box.querySelector("[data-rule]");
      seen.rule = report ? report.dataset.rule + " " + report.textContent.includes("model: " + report.dataset.rule) : null;
    }
    for (const [name, does] of ways) {
      const tools = { all, box, press, frame, frames, button, slider, count, wait };
      seen.ways[name] = String(await new ask(...Object.keys(tools), does)(...Object.values(tools)) ?? frame());
    }
  } catch (error) { seen.error = String(error); }
  localStorage.setItem("seen" + number_of_page, JSON.stringify(seen));
  if (number_of_page + 1 < pages.length) { location.href = pages[number_of_page + 1][0]; return; }
  const saw = pages.map((_, i) => JSON.parse(localStorage.getItem("seen" + i)));
  document.body.insertAdjacentHTML("beforeend", '<pre id="seen"></pre>');
  document.getElementById("seen").textContent = btoa(unescape(encodeURIComponent(JSON.stringify(saw))));
}, 50));
END

    # What a reader may do on the page of these data, in the driver's JavaScript, and what that must return; if it
    # returns nothing, the number of the frame to which it must lead.
    sub ways ($name) {
        my $last = $#{ $data{$name}{frames} };
        my @ways = (
            [ right => '', $last ], [ beyond => 'press("ArrowRight")', $last ], [ left => 'press("ArrowLeft")', $last - 1 ],
            [ home => 'press("Home")', 0 ], [ end => 'press("End")', $last ], [ first => 'button("first").click()', 0 ],
            [ on => 'button("on").click(); button("on").click(); button("back").click()', 1 ], [ hash => 'return location.hash', '#frame=1' ],
            [ slider => 'slider.value = 3; slider.dispatchEvent(new Event("input"))', 3 ], [ 'in slider' => 'press("ArrowRight", slider)', 3 ],
            [ 'by hash' => 'location.hash = "#frame=2"; await wait(20)', 2 ],
            [ themes => 'return ["light", "dark"].map((theme) => { document.documentElement.dataset.theme = theme;
                return getComputedStyle(box).backgroundColor; })', 'rgb(255, 255, 255),rgb(13, 17, 23)' ],
            [ 'the sentence is live' => 'return box.querySelector(".step-say").getAttribute("aria-live")', 'polite' ],
        );
        my ($complete) = grep { my $frame = $_; $_ > 0 && grep { $_->{f} eq 'complete' } @{ $data{$name}{frames}[$frame]{say} } } 0 .. $last;
        push @ways, [ phase => 'button("first").click(); button("phase").click()', $complete // $last ] if $data{$name}{kind} eq 'run';
        push @ways, [ 'what frame 2 shows' => 'location.hash = "#frame=2"; await wait(20);
            return [...box.querySelectorAll("[data-passes]")].map((e) => e.getAttribute("data-passes"))', '0,1,1' ] if $name eq 'parity';
        return @ways;
    }

    # The ways that led elsewhere, in words.
    sub other_ways ($seen, @ways) {
        return $seen->{error} if $seen->{error};
        return map { my ($way, undef, $to) = @$_; $seen->{ways}{$way} eq $to ? () : "$way: $seen->{ways}{$way}, not $to" } @ways;
    }

    # A copy of the pages with what is given instead of some text in some files.
    sub pages ($to, %change) {
        mkdir "$scratch/$to";
        system("cp $PAGES/*.js $PAGES/*.css $PAGES/*.html $scratch/$to") == 0 or die "cp failed\n";
        for my $page (glob "$scratch/$to/*.html") {
            store($page, contents($page) =~ s{<script defer}{<script src="driver.js"></script>\n<script defer}r);
        }
        while (my ($file, $edit) = each %change) {
            my $text = contents("$scratch/$to/$file");
            my $after = $edit->($text);
            die "nothing to change in $file\n" if $after eq $text;
            store("$scratch/$to/$file", $after);
        }
        return $to;
    }

    # One viewer on a page that is not its own.
    sub lesson ($in) {
        store("$scratch/$in/lesson.html", contents("$scratch/$in/parity.html") =~ s{ class="steps-page"}{}r);
        return $in;
    }

    # Opens pages one after the other in one browser. For each page the caller says whether to walk through it, and
    # which ways to try. Returns {page => [what the driver has seen, errors on the console]}.
    sub opened ($in, @pages) {
        my $at = "$scratch/$in";
        store("$at/driver.js", 'const pages = ' . encode_json([ map { my ($page, $walks, @ways) = @$_; [ $page, $walks, [ map { [ @$_[ 0, 1 ] ] } @ways ] ] } @pages ])
            . ";\n$driver");
        system("timeout 120 $CHROMIUM --headless --no-sandbox --disable-gpu --disable-extensions --disable-ipc-flooding-protection --user-data-dir=$at.profile"
            . " --window-size=360,800 --enable-logging=stderr --virtual-time-budget=60000 --dump-dom 'file://$at/$pages[0][0]' >$at.dom 2>$at.err");
        my ($text) = contents("$at.dom") =~ m{<pre id="seen">([^<]*)</pre>};
        my $all = defined $text ? decode_json(decode_base64($text)) : [];
        my $page = 0;
        my %seen = map { $pages[$_][0] => [ $all->[$_] ] } 0 .. $#pages;
        for (grep { /CONSOLE/ } split /\n/, contents("$at.err")) {
            if (/"page (\d+)"/) { $page = $1 } else { push @{ $seen{ $pages[$page][0] } }, $_ }
        }
        return \%seen;
    }

    # What is wrong with how a page moves, in words.
    sub faults ($name, $seen, @errors) {
        return 'the console says: ' . join '; ', @errors if @errors;
        return 'the driver did not end' if !$seen;
        my @wrong = other_ways($seen, ways($name));
        push @wrong, 'a frame says nothing' if grep { !length } @{ $seen->{say} };
        push @wrong, 'all frames say the same' if ($seen->{say}[0] // '') eq ($seen->{say}[1] // '');
        push @wrong, "frame $seen->{bad}: a word is missing" if defined $seen->{bad};
        push @wrong, "frame $seen->{wide}: it is wider than a phone" if defined $seen->{wide};
        push @wrong, map { "frame $_: other barriers than the model's" } differing($data{$name}, $seen->{frames}, @{ $rows{$name} })
            if $rows{$name};
        my $report = $data{$name}{report};
        push @wrong, 'the report is missing' if $report && ($seen->{rule} // '') ne "$report->{rule} true";
        return @wrong;
    }

    my %page_of = map { (/^bug_/ || !/^\d/ ? $_ : substr($_, 0, 2)) . '.html' => $_ } @small, grep { !/^variant_/ } @runs;
    my @pages = sort keys %page_of;
    my $right = pages('right');
    store("$scratch/$right/several.html",
        contents("$scratch/$right/parity.html") =~ s{(<div class="step".*)}{$1\n<div class="step" data-step="two_loads"></div>}r);
    lesson($right);
    my @several = ([ begin => 'return frames()', '0 0' ], [ 'a key for the page' => 'press("ArrowRight"); return frames()', '0 0' ],
        [ 'each its keys' => 'press("ArrowRight", all[1]); press("ArrowRight", all[1]); press("ArrowRight", box); return frames() + location.hash', '1 2#parity=1' ],
        [ 'another hash' => 'location.hash = "#elsewhere"; await wait(20); return frames()', '1 2' ],
        [ 'its hash' => 'location.hash = "#parity=4"; await wait(20); return frames()', '4 2' ]);
    # dispatchEvent() returns false if the page has kept the key from scrolling.
    my @lesson = ([ keys => 'return [" ", "Home", "End", "ArrowLeft", "ArrowRight"].filter((key) => !press(key)).join() + frame() + location.hash', '0' ],
        [ focus => 'box.focus(); return document.activeElement === box', 'true' ],
        [ 'keys with the focus' => 'press("ArrowRight", document.activeElement); press("End", document.activeElement)', 5 ]);
    my $hangs = 'bug_07_empty_expects_three_consumers';
    my @change = ([ 'a value that hangs' => "const choice = document.querySelector('button[data-run=$hangs]'); choice.click(); await wait(100); press('End');
        return choice.textContent + ' ' + document.querySelector('[data-rule]').dataset.rule + location.hash", "3 hangs DEADLOCK#$hangs=$#{ $data{$hangs}{frames} }" ]);
    my $chinese = '07.html?lang=zh';
    my $seen = opened($right, (map { [ $_, 1, ways($page_of{$_}) ] } @pages), [ $chinese, 1, ways('07_warp_specialized') ],
        [ 'several.html', 0, @several ], [ 'lesson.html', 0, @lesson ], [ 'change.html', 0, @change ]);
    for my $page (@pages, $chinese) {
        is_deeply([ faults($page_of{$page} // '07_warp_specialized', @{ $seen->{$page} }) ], [], "$page: loads, moves, and shows the model's states");
    }
    is(scalar(grep { !/[\x{4e00}-\x{9fff}]/ } @{ $seen->{$chinese}[0]{say} // [''] }), 0, '07.html in Chinese: every sentence is');
    is_deeply([ other_ways($seen->{'several.html'}[0], @several) ], [], 'two on a page: each has its own keys, and its place in the hash');
    is_deeply([ other_ways($seen->{'lesson.html'}[0], @lesson) ], [], 'one in a lesson leaves the keys to the page until it has the focus');
    is_deeply([ other_ways($seen->{'change.html'}[0], @change) ], [], 'change.html shows the run of a value that hangs, up to the report');

    # Seen: a dead key, a script's error, a wrong phase.
    my %fault = (
        dead_key => [ 'step.js', sub { $_[0] =~ s/ArrowRight: "on", //r } ],
        script_error => [ 'step.js', sub { $_[0] =~ s/pages\.run = \{/nothing.run = {/r } ],
        wrong_phase => [ '07_warp_specialized.js', sub { $_[0] =~ s/"full\[1\]":\[1,/"full[1]":[2,/r } ],
        no_data => [ '07.html', sub { $_[0] =~ s/data-step="07_warp_specialized"/data-step="07"/r } ],
        keys_of_a_lesson => [ 'step.js', sub { $_[0] =~ s/document\.body\.classList\.contains\("steps-page"\) && //r } ],
    );
    for my $kind (sort keys %fault) {
        my ($page, $walks, @ways) = $kind =~ /lesson/ ? ('lesson.html', 0, @lesson) : ('07.html', 1, ways('07_warp_specialized'));
        my $saw = opened(lesson(pages($kind, @{ $fault{$kind} })), [ $page, $walks, @ways ])->{$page};
        my @found = $walks ? faults('07_warp_specialized', @$saw) : other_ways($saw->[0], @ways);
        isnt(scalar @found, 0, "seen: $kind") and note($found[0]);
    }
}
done_testing();
