/* The lessons come first, then the pages to look things up in, then the rest. */
var Scorer = {
  score: ([docname, title, anchor, descr, score]) =>
    score + (/_[^/]*\/index$/.test(docname) ? 4 : /^book\/(rules|troubleshooting|glossary)$/.test(docname) ? 3 :
             /^book\//.test(docname) ? 2 : /^source\//.test(docname) ? -4 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
