// How the search of the site ranks pages. Whoever pastes a message finds what to do first: the questions and
// answers. A page with a word in a title still comes before those that only have it in
// their text.
var Scorer = {
    score: ([page, , , , score]) => score + ({ faq: 8, "after-a-failure": 4 }[page] || 0),
    objNameMatch: 11,
    objPartialMatch: 6,
    objPrio: { 0: 15, 1: 5, 2: -5 },
    objPrioDefault: 0,
    title: 15,
    partialTitle: 7,
    term: 5,
    partialTerm: 2,
};
