// What docs/found.js shows of a page that the search has found. Usage: node found.js DOCS
const assert = require("assert");
const { placeIn } = require(`${process.argv[2]}/found.js`);

// Enough of an English stemmer for these words.
const stem = (word) => word.replace(/(ies|y)$/, "i").replace(/(ing|ed|s)$/, "");
const filler = "A checkpoint is a dataset. ".repeat(30).trim();
const sections = [
    { id: "restart", title: "Restart", text: `${filler} The cache comes first.` },
    { id: "copies", title: "Copies", text: `${filler} SCR copied the checkpoint to the other memory. ${filler}` },
    { id: "two", title: "Memories", text: "The memory of a node." },
];
const place = (...words) => placeIn(sections, words.map(stem), stem, 120);

// The section with most of the words, and there the place where they are together.
let found = place("checkpoint", "memory");
assert.equal(found.id, "copies");
assert.match(found.excerpt, /^… .*copied the checkpoint to the other memory.* …$/);
// Another form of the word, which the text does not have letter by letter.
assert.match(place("copies").excerpt, /SCR copied/);
// The title counts; of equal sections the first.
assert.equal(place("memories").id, "two");
assert.equal(place("checkpoints").id, "restart");
assert.match(place("checkpoints").excerpt, /^A checkpoint is/);
assert.equal(place("absent"), null);
