// The results of the site's search. Sphinx shows the place in a page where one of the words first stands, often
// that of the commonest word at the top, or the page's first words if only another form of a word is there; and
// it links to the top. Here each result shows the section that has most of the words, and leads to it.

// The words of a text that have keywords, as the search compares them: their places, and which.
function matchesIn(text, keywords, stem) {
    const matches = [];
    for (const match of text.matchAll(/[\p{Letter}\p{Number}_]+/gu)) {
        const word = match[0].toLowerCase();
        // A stem begins as its word does, so most words need none.
        const near = keywords.filter((keyword) => word.includes(keyword.slice(0, 3)));
        const stemmed = near.length > 0 ? stem(word) : "";
        const has = near.filter((keyword) => stemmed.includes(keyword));
        if (has.length > 0) matches.push({ at: match.index, has });
    }
    return matches;
}

// The shortest part of a text with most of the keywords, of at most `length` characters: how many it has, where
// it begins and how long it is. `keywords` are stems.
function densestPart(text, keywords, stem, length) {
    const matches = matchesIn(text, keywords, stem);
    let best = { count: 0, at: 0, span: 0 };
    matches.forEach((first, index) => {
        const met = new Set();
        for (const word of matches.slice(index)) {
            const span = word.at - first.at;
            if (span >= length) break;
            const before = met.size;
            word.has.forEach((keyword) => met.add(keyword));
            if (met.size === before) continue;
            const better = met.size > best.count || (met.size === best.count && span < best.span);
            if (better) best = { count: met.size, at: first.at, span };
        }
    });
    return best;
}

// The place to show of a page: of its sections, each with id, title and text, the first of those with most keywords.
// Words of the title count as well.
function placeIn(sections, keywords, stem, length) {
    let best = null;
    for (const section of sections) {
        const part = densestPart(section.text, keywords, stem, length);
        const titled = densestPart(section.title, keywords, stem, section.title.length + 1).count;
        const score = part.count + titled / 2;
        if (score > 0 && (best === null || score > best.score)) best = { section, part, score };
    }
    if (best === null) return null;
    const { text, id, title } = best.section;
    const before = Math.max(0, best.part.at - Math.floor((length - best.part.span) / 2));
    const begin = before > 0 ? text.indexOf(" ", before) : 0;
    const excerpt = text.slice(begin, begin + length).trim();
    return { id, title, excerpt: `${begin > 0 ? "… " : ""}${excerpt}${begin + length < text.length ? " …" : ""}` };
}

// The sections of a page, each without those within it.
function sectionsOf(html) {
    const page = new DOMParser().parseFromString(html, "text/html");
    page.querySelectorAll(".headerlink, script, style").forEach((element) => element.remove());
    return Array.from(page.querySelectorAll('[role="main"] section[id]'), (element) => {
        const own = element.cloneNode(true);
        own.querySelectorAll("section").forEach((inner) => inner.remove());
        const heading = own.querySelector("h1, h2, h3, h4");
        const title = heading ? heading.textContent.trim() : "";
        if (heading) heading.remove();
        return { id: element.id, title, text: own.textContent.replace(/\s+/g, " ").trim() };
    });
}

// In place of Search.makeSearchSummary: html is the page, keywords are stems.
function summary(html, keywords) {
    const stemmer = new Stemmer();
    const place = placeIn(sectionsOf(html), [...keywords], (word) => stemmer.stemWord(word), 240);
    if (place === null) return document.createElement("p");
    const shown = document.createElement("p");
    shown.classList.add("context");
    shown.textContent = place.excerpt;
    // Sphinx puts it below the link. One that leads to a heading already stays.
    queueMicrotask(() => {
        const link = shown.parentElement?.querySelector("a");
        if (!link || link.hash) return;
        link.href += `#${place.id}`;
        if (place.title && place.title !== link.textContent) link.textContent += ` › ${place.title}`;
    });
    return shown;
}

if (typeof module !== "undefined") {
    module.exports = { placeIn };
} else {
    // Before Sphinx's own listener, which begins the search.
    document.addEventListener("DOMContentLoaded", () => {
        if (typeof Search !== "undefined") Search.makeSearchSummary = summary;
    });
}
