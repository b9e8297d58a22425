/* Scores search results. Equal scores are sorted by the order of the contents. */
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([docname, , , , score]) => {
    const links = [...document.querySelectorAll(".sidebar-tree a.reference.internal")];
    const place = links.findIndex((link) => new URL(link.href).pathname.endsWith(`/${docname}.html`));
    return score - (place < 0 ? links.length : place) / (links.length + 1);
  },
};
