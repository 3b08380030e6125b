// Slides one at a time: arrows, space, Page Up and Page Down, Home and End; n shows the notes, a shows all slides.
'use strict';
(function () {
    var slides = document.querySelectorAll('.slide'), at = 0;

    function show(number) {
        at = Math.max(0, Math.min(slides.length - 1, number));
        document.querySelectorAll('.now').forEach(function (e) { e.classList.remove('now'); });
        slides[at].classList.add('now');
        slides[at].nextElementSibling.classList.add('now');
        history.replaceState(null, '', '#slide-' + (at + 1));
        if (!document.body.classList.contains('one')) {
            slides[at].scrollIntoView();
        }
    }
    var keys = {
        ArrowRight: function () { show(at + 1); },
        ArrowLeft: function () { show(at - 1); },
        Home: function () { show(0); },
        End: function () { show(slides.length - 1); },
        n: function () { document.body.classList.toggle('notes'); },
        a: function () { document.body.classList.toggle('one'); show(at); },
    };
    keys.PageDown = keys[' '] = keys.ArrowDown = keys.ArrowRight;
    keys.PageUp = keys.ArrowUp = keys.ArrowLeft;
    document.addEventListener('keydown', function (event) {
        if (keys[event.key] && !event.ctrlKey && !event.altKey && !event.metaKey) {
            keys[event.key]();
            event.preventDefault();
        }
    });
    document.addEventListener('click', function (event) {
        if (!event.target.closest('a, aside, pre')) {
            show(at + 1);
        }
    });
    document.body.classList.add('one');
    show((parseInt(location.hash.replace('#slide-', ''), 10) || 1) - 1);
}());
