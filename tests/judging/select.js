// Selects, in the first answer that is shown, from a text to another one, as a mouse does.
([from, to]) => {
  const view = document.querySelector(".question:not([hidden]) .answer .text > :not([hidden])");
  const walker = document.createTreeWalker(view, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  let started = false;
  while (walker.nextNode()) {
    const { data } = walker.currentNode;
    if (!started && data.includes(from)) { range.setStart(walker.currentNode, data.indexOf(from)); started = true; }
    if (started && data.includes(to)) { range.setEnd(walker.currentNode, data.indexOf(to) + to.length); break; }
  }
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}
