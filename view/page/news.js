// SPDX-License-Identifier: MIT
// Tells all tabs of one browser what comes, by one connection. Runs once for them all, as a shared worker.
const tabs = new Set();
let source = null, last = null;

function send(what) {
	for (const tab of tabs) tab.postMessage(what);
}

function listen() {
	source = new EventSource("get/news");
	source.onmessage = e => send(last = JSON.parse(e.data));
	source.onerror = () => send(last = null);
}

onconnect = e => {
	const tab = e.ports[0];
	tabs.add(tab);
	// all that a tab says is that it goes
	tab.onmessage = () => {
		tabs.delete(tab);
		if (tabs.size || !source) return;
		source.close();
		source = last = null;
	};
	if (last) tab.postMessage(last);
	if (!source) listen();
};
