/* Chinese is written without blanks: each run of it is cut into the longest words that the index knows. */
var splitQuery = (query) =>
  query.split(/[^\p{Letter}\p{Number}_]+/gu).flatMap((run) => run.match(/\p{Script=Han}+|[^\p{Script=Han}]+/gu) || [])
    .flatMap((run) => {
      if (!/\p{Script=Han}/u.test(run)) return [run];
      const known = (word) => Search._index && (Object.hasOwn(Search._index.terms, word) ||
                                                Object.hasOwn(Search._index.titleterms, word));
      const words = [];
      for (let at = 0; at < run.length; ) {
        let end = run.length;
        while (end > at + 1 && !known(run.slice(at, end))) end--;
        if (end > at + 1) words.push(run.slice(at, end));
        at = end;
      }
      return words.length ? words : [run];
    });
