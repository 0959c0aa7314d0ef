"""The course's one list of mistakes: a short name for each, which never changes, and the sentence that goes with it.

A name is said once, whatever the exercise; an exercise may put it into words of its own (`say`). What stands in
`GENERAL` is found by looking at an answer, and said where it is found. All others are edits of a solution.
"""

import re
from dataclasses import dataclass

from .run import Wrong

GENERAL = (
    "a global in place of the argument",
    "a linear map is missing",
    "a number in place of a tensor",
    "a part is missing",
    "all rows computed",
    "an argument is not used",
    "an axis is missing",
    "an axis that is not there",
    "an axis too many",
    "axes in the wrong order",
    "changed in place",
    "changes its input",
    "cut off from the gradient",
    "drawn anew in each call",
    "never ends",
    "no gradient",
    "not a class",
    "not a function",
    "not a layer",
    "not a number",
    "one map for two",
    "other numbers",
    "parameters created inside forward",
    "raises",
    "returns nothing",
    "sizes that do not fit",
    "super().__init__() is missing",
    "the average taken late",
    "the sign turned round",
    "the work left to another function",
    "weights not registered",
    "wrong by a factor",
    "wrong dtype",
    "wrong shape",
    "wrong type",
    "wrong width",
)

# Somebody whose mask says how many tokens are real, and no longer which.
COUNTED = "torch.arange(mask.shape[1]) < mask.sum(dim=1, keepdim=True)"

SENTENCES = {
    # means and sums
    "counted over the batch": "You count how many texts have a real token at each place. Count the real tokens of "
    "each text: sum the mask over axis 1.",
    "divided by all places": "Padding is out of the sum, but you still divide by the length of the row and not by the "
    "number of real tokens. Short texts come out too small.",
    "divided once too often": "You take the mean of the weighted features. The weights sum to 1 already, so sum them.",
    "mean over the batch": "You average over the texts of the batch. A text must not depend on its neighbours: the "
    "tokens are axis 1.",
    "mean over the features": "You average over the features of each token. The tokens are axis 1, the features axis "
    "2.",
    "multiplied by the count": "You multiply by the number of real tokens. A mean divides by it.",
    "not divided": "This is a sum over the real tokens, not their mean. Long texts come out too large.",
    "one count for all texts": "You divide by the real tokens of the whole batch. Each text has a count of its own: "
    "sum the mask over the tokens only.",
    "padding left in the mean": "The mean runs over padding too: short texts are pulled towards whatever stands "
    "behind them.",
    "padding left in the sum": "You divide by the number of real tokens, but padding is still in the sum.",
    "summed over the batch": "You sum over the texts of the batch. The tokens of one text are summed: axis 1.",
    "summed over the features": "You sum over the features of each token. Sum over the tokens, axis 1.",
    "the axis of the count is lost": "The counts have the shape (batch,), which lines up with the features and not "
    "with the texts; where the sizes agree that raises no error. Keep the axis: keepdim=True.",
    # masks
    "NaN for a text of padding": "A text of padding only gives NaN, and one NaN spoils the whole model. It comes from "
    "0 / 0, or from the softmax of a row of minus infinities: fill with the smallest number instead, and multiply by "
    "the mask at the end.",
    "mask after the softmax": "You set the weights of padding to zero after the softmax. It has had its share by "
    "then, and the weights no longer sum to 1. Hide it in the scores.",
    "no mask": "The mask is not used, so padding takes part.",
    "padding hidden with too small a number": "Padding gets a low score, but a real token may score lower still, and "
    "then padding wins. Fill with the smallest number there is, or with minus infinity.",
    "padding scored zero": "You give padding the score 0. The softmax takes e to the 0, which is 1: padding still "
    "gets weight. Use the smallest number there is.",
    "the mask added as it is": "You add the mask to the scores, so real tokens get 1 more and padding keeps its "
    "score. What is added to padding must be hugely negative.",
    "the mask on the wrong axis": "The mask has its new axis in the wrong place. It is (batch, tokens) and must "
    "become (batch, tokens, 1), so that it says the same for all features of a token.",
    "the mask only counted": "You count the real tokens of a text and take as many from the front. Padding may stand "
    "in front, too: ask the mask which tokens are real.",
    "the mask the wrong way round": "You take padding for the real tokens. The mask is True where a token is real.",
    "weight for a text of padding": "A text of padding only should get no weight at all. Multiply by the mask after "
    "the softmax, too.",
    # scores, softmax, weights
    "no softmax": "The scores are used as weights. Without the softmax they can be negative and do not sum to 1.",
    "results in the wrong order": "Both results are right, but in the wrong order: the output first, then the weights.",
    "scores returned instead of weights": "The output is right, but the second result holds the scores. Return the "
    "weights.",
    "sigmoid instead of softmax": "A sigmoid looks at each token alone, so the weights of a text do not sum to 1.",
    "softmax over the batch": "Your softmax runs over axis 0, so the texts of a batch compete. The tokens of one text "
    "should: the last axis.",
    "squeeze without an axis": "`squeeze()` takes away every axis of size 1, the tokens of one-token texts too. Say "
    "which: `squeeze(2)`.",
    "weights not used": "The weights are not used: what they should weigh comes back plain, summed or averaged.",
    # lab 1
    "a count instead of a share": "This is the number of lost reviews. Divide it by the number of all.",
    "a full window counted as room": "A distractor that fills the window to its last place leaves no room either. "
    "Look at the equal sign.",
    "cut reviews counted as lost": "You also count reviews that lose their end only. The question is about those of "
    "which nothing is left.",
    "one answer for each review": "This says for each review whether it is lost. Return one number, the share that is.",
    "only windows filled exactly": "You count distractors that fill the window exactly. A longer one leaves no room "
    "either.",
    "the reviews compared with each other": "You compare the two reviews. What leaves no room is a distractor as long "
    "as the window.",
    "the share that stays": "This is the share of reviews of which something is left. Take the others.",
    "the two reviews exchanged": "You measure the labelled review. The one that pushes it out of the window is the "
    "distractor, in front.",
    "the window is not used": "Your answer holds for a window of 256 only. Use the argument.",
    "words counted instead of reviews": "This is the share of the labelled reviews' words that is lost. Count reviews.",
    # biases, maps folded and unfolded
    "a bias subtracted": "You subtract a bias. Biases are added.",
    "added in place of multiplied": "You add where the two have to be multiplied.",
    "biases not counted": "Without biases this is right. With them, the key has k more.",
    "both biases forgotten": "w is right, but b is zero. The key model has two biases; what do they add to a score?",
    "divided by an entry of q": "You divide by entries of the query, and one of them may be zero. Only the whole "
    "query is not: divide by q · q.",
    "divided by the length of q": "You divide by the length of q, the root of q · q. The query comes in twice, so "
    "divide by its square.",
    "divided by the number of entries": "You divide by the number of the query's entries. What has to go is their "
    "square: q · q.",
    "each column brings back all of w": "Each column alone would do; together they bring back k times w. Share it "
    "among the columns.",
    "multiplied in place of added": "You multiply where the two have to be added.",
    "multiplied in place of divided": "You multiply by q · q. Divide by it: the query comes in twice.",
    "not divided by q · q": "The direction is right, the size is not: w comes back multiplied by q · q.",
    "nothing comes back": "Your K times the query is zero.",
    "the bias in place of the query": "You multiply with the key's bias. What meets the keys is the query.",
    "the difference turned round": "You take the key model from the single map. The sign is the other way round: k = "
    "1 costs more.",
    "the key matrix not counted": "The key matrix is missing. It has d rows and k columns.",
    "the key matrix taken as d by d": "You count a full key matrix. It has d rows and k columns.",
    "the key matrix is not d times k": "The key matrix has d rows and k columns, so d times k numbers.",
    "the key's bias forgotten": "Each key carries the key's bias, k numbers that the query meets too. It is missing.",
    "the key's bias has the wrong width": "The key's bias is added to a key, so it has k numbers.",
    "the key's bias never met the query": "You add up the key's bias as it stands. A score is a key times the query, "
    "and the bias is a part of the key.",
    "the matrix the wrong way round": "The matrix is transposed: K has d rows and k columns, and the query has k "
    "numbers. (Only nn.Linear keeps its matrix transposed.)",
    "the product is not summed": "You multiply number by number, and leave the products side by side. Sum them.",
    "the query entry by entry": "You divide by the query entry by entry. One number is due, the sum of its squares: q "
    "· q.",
    "the query forgotten": "You count the key matrix alone. The query has k numbers of its own.",
    "the query has the wrong width": "The query meets keys, so it has k numbers, and a bias if there are any.",
    "the query is not undone": "The columns of K hold w as it is. Then the query multiplies it by the sum of its "
    "entries.",
    "the query left out of w": "w adds up the columns of K as if the query were all ones. Each column counts as much "
    "as the query says.",
    "the query meets itself": "You multiply the query with itself. In b it meets the key's bias.",
    "the query taken off": "You take the query off the key. The key model has both.",
    "the query's bias forgotten": "The bias behind the query is missing.",
    "the single map added": "You add the single map. The question is how many parameters come on top of it: take it "
    "off.",
    "the single map has the wrong width": "The single map makes one number of d: it has d, and a bias if there are "
    "any.",
    "the single map not taken off": "This is what the key model has. The question is how many *more* that is than the "
    "single map's.",
    "the single map's bias forgotten": "The single map has a bias as well, when the key model has: one number less to "
    "pay for.",
    "the single map's bias has the wrong sign": "The single map has d numbers and a bias: add the bias, and take the "
    "sum off.",
    "w is a column": "w has an axis too many: a vector of d numbers has the shape (d,).",
    "w taken for the query": "You multiply with w where the query belongs: the square is that of the query, q · q.",
    # self-attention
    "NaN in rows of padding": "A query of padding has nothing to look at: a row of minus infinities, whose softmax is "
    "NaN. Fill with the smallest number instead, or hide padding from all queries and leave the rows as they are.",
    "a reshape for a transpose": "The shape is right and the numbers stand in the wrong places: a reshape does not "
    "turn a matrix. Transpose it.",
    "a residual connection": "You add what was there before to the output. Such a residual connection comes in lab 8; "
    "this layer has none.",
    "averaged over the tokens": "You make one output of all tokens. The layer gives each token an output of its own; "
    "averaging is the classifier's business.",
    "d instead of k in the scale": "You divide by the root of the features' width. A score sums as many products as a "
    "key has numbers, so the width of the keys counts.",
    "d_v instead of k in the scale": "You divide by the root of the values' width. Values take no part in a score: "
    "the width of the keys counts.",
    "each token asks only itself": "Each query meets the key of its own token alone. Let it meet all keys of the "
    "text: one row of scores for each token, a matrix product.",
    "features brought back": "You bring back the features. What a token gives is its value, made of its features by "
    "the values' matrix.",
    "keys brought back": "You bring back the keys. They say what a token answers to, and are not what it gives.",
    "multiplied by the scale": "You multiply by the root of the keys' width. That makes large scores larger; divide.",
    "no root in the scale": "You divide by the width of the keys. The variance of a score grows with it, the size of "
    "a score with its root.",
    "no scale": "The scores are not divided by the root of the keys' width.",
    "no transpose at all": "You multiply the two as they lie. Transpose one, so that the products are summed over the "
    "axis that both share, the width of the keys.",
    "one matrix for both": "Queries and keys come from the same matrix. Then i asks j as j asks i; there are two "
    "matrices.",
    "one matrix for keys and values": "Keys and values come from the same matrix. What a token answers to and what it "
    "gives are two things.",
    "one question for all": "All tokens of a text ask the same question, the average one. Each token makes its own.",
    "only one matrix used": "Only one of the two matrices is in the result. It is a product of both.",
    "queries and keys exchanged": "Keys ask here, and queries answer. Row i of the scores is what token i asks, so "
    "the queries stand on the left.",
    "queries brought back": "You bring back the queries. They say what a token asks, and are not what it gives.",
    "softmax over the wrong axis": "Your softmax runs down the columns, so the askers compete for a token. Each row "
    "must sum to 1: the softmax belongs on the last axis.",
    "the axis of the mask is lost": "The mask has no axis for those who ask, so texts and askers are mixed up. Give "
    "it a new axis in the middle, (batch, 1, tokens).",
    "the mask on those who ask": "Your mask hides rows: it says who may ask. It has to hide columns, so that nobody "
    "looks *at* padding. Its new axis stands in front of the tokens: (batch, 1, tokens), with heads (batch, 1, 1, "
    "tokens).",
    "the number of texts in the scale": "You divide by the root of the number of texts. A score sums as many products "
    "as a key has numbers, whatever the batch.",
    "the number of tokens in the scale": "You divide by the root of the number of tokens. A score sums as many "
    "products as a key has numbers, whatever the length of the text.",
    "the scale of another matrix's number": "You divide by the root of how many numbers the matrix has. A score sums "
    "k products: it is the number of its rows.",
    "the trap of the transposed matrix": "This product is k x k. nn.Linear keeps its matrix transposed, (k, d), so "
    "here Q is `weight_query.T`; the matrix in the middle is d x d.",
    "transpose of the wrong axes": "The keys are transposed along the wrong axes. In a batch, axis 0 counts texts and "
    "must stay: exchange the last two, with `keys.transpose(1, 2)`.",
    "values made of something else": "Your values are not made of the features. Each of the three maps takes the "
    "features.",
    "weighted with the transposed weights": "You multiply with the weights transposed: each token gives where it "
    "should take. Row i says what token i brings back.",
    # one question in any width
    "every column asks": "Each of the k columns alone gives the right scores; together they give k times as much. "
    "Share it out, or use one column.",
    "nobody asks": "All weights are equal: the query is zero, or the keys are. The question stands in the query's "
    "bias.",
    "the matrix still asks": "The query's matrix is not zero, and the tokens still ask different questions.",
    "the scale counted three times": "You divide by k√k. One √k is the layer's own scale; make up for that.",
    "the scale not undone": "The layer divides the scores by √k, so its weights are flatter than the pooling's. Make "
    "up for it.",
    "the scale undone twice": "The scores come out √k times too large: you made up for the division twice, or with k "
    "where its root is due.",
    "the sign turned round": "The order is upside down: what the pooling likes most gets the least weight. A sign is "
    "wrong.",
    "w left out of the keys": "The keys do not contain w. Each column of W_key asks w's question.",
    # averages and rows of A
    "a text taken for a place": "You index the texts with the places. Axis 0 counts texts, axis 1 places: "
    "`features[torch.arange(batch), place]`.",
    "all rows averaged": "You average the outputs of all tokens. That drowns the one row that has a reason to ask.",
    "columns weighted instead of rows": "Your shares stand along the columns of A. They belong to the rows, the "
    "tokens that ask: (batch, tokens, 1).",
    "every place in every text": "`[:, place]` takes all places from each text, so the result has an axis too many. "
    "Take one place from each: `features[torch.arange(batch), place]`.",
    "one place for all texts": "You read the same place in every text. The mark has a place of its own in each.",
    "one row read": "You read one row of A. The mean takes all rows of real tokens.",
    "row means instead of column means": "This is the mean of the values. You left A out, or took the mean of each "
    "row over its columns, which is the same: every row sums to 1. Column means are the average *of* the rows, how "
    "much each token is looked at.",
    "rows of padding counted": "You average over all rows. A padded token asks as well, and nobody may count its "
    "answer.",
    "the first row read": "You read the row of the first token. The mark stands elsewhere in each text: `place` says "
    "where.",
    "the last row read": "You read the row of the last token. The mark stands elsewhere in each text: `place` says "
    "where.",
    "the mark's column read": "The mark is asked instead of asking: its key meets the queries of all tokens. Take the "
    "mark's *query* and all keys.",
    "the mark's own value": "This is the value of the mark itself. What it brings back is a mixture of all values.",
    "the weights of the mark's column": "You read a column of A. A column says how much each token looks at the mark; "
    "the mark's row, where it looks.",
    # labs 5 and 6
    "a bias is left in": "The layer has a bias, and x @ W has none: nn.Linear makes one unless you say bias=False.",
    "added up to one number": "You add up the row. Each word keeps the score that it got.",
    "all rows in place of one": "This is the whole score matrix. The exercise asks for the row of the word `asking`.",
    "all words in place of one": "These are the context vectors of all words. The exercise asks for that of the word "
    "at `place`.",
    "already summed": "The filtered values are already added up. Leave out the sum.",
    "always the same word": "The same word asks each time, whatever the argument says. It says which word asks.",
    "axes of the result swapped": "Everything is there, but the words that are asked stand on the first axis and "
    "those that ask on the second.",
    "cannot learn": "The layer's weight cannot learn: its requires_grad is False. An nn.Parameter learns unless told "
    "not to.",
    "copied outside no_grad": "PyTorch refuses to write into a parameter while it follows the gradient. Do it inside "
    "torch.no_grad().",
    "divided in place of multiplied": "You divide where the two have to be multiplied.",
    "exponentials not divided": "The exponentials are not divided by their sum, so they are no shares.",
    "features and words swapped": "Everything is there, but the features stand in the middle. They are the last axis.",
    "memory shared": "The layer's weight lies in the memory of W, so training the layer would change W. Copy the "
    "numbers.",
    "no new axis": "Two axes cannot hold three things: who asks, who is asked, and the features of the value. Give "
    "the weights an axis of length 1 at their end.",
    "no nn.Linear": "What comes back is no nn.Linear. Make one, write the numbers into it, and return the layer.",
    "no projection": "Features meet here as they are. The word's query meets keys, and W_query and W_key make them.",
    "not weighted": "Every word receives the plain values. Multiply each value by its weight.",
    "one place off": "You read the word before the one that asks. Places count from 0, as Python's indices do.",
    "one word only": "This is the filter of word 0. The exercise asks for all words, on a first axis of their own.",
    "only for a batch": "Something here takes three axes only, so a single sentence breaks it: an axis counted from "
    "the front, as in transpose(1, 2), softmax(dim=2) or shape[2]; bmm; or a shape taken apart in three. Count axes "
    "from the end, and multiply with `@`.",
    "scaled": "These scores are divided by the square root of d_k. That is the next step; the exercise asks for the "
    "scores.",
    "sentences read each other": "All sentences of the batch were put into one long one, so words look into other "
    "sentences.",
    "softmax applied": "These are weights: positive, of sum 1. The exercise asks for the scores before the softmax.",
    "softmax once more": "The weights went through the softmax again. They are weights already.",
    "softmax over all scores": "The softmax runs over the whole score matrix, so all weights together make 1. Each row "
    "should: dim=-1.",
    "the scale after the softmax": "You scale the weights. Scale the scores, before the softmax.",
    "the scale divided by the scores": "You divide the root by the scores. Divide the scores by the root.",
    "the new axis in the wrong place": "The new axis stands in the wrong place. Weights become (tokens, tokens, 1), "
    "values (1, tokens, d_v).",
    "values left out": "These are weights alone. Multiply each by the value of the word that is asked.",
    "values of the word that asks": "At [i, j] stands the value of word i, the word that asks. The value that passes "
    "is that of word j.",
    "weights in place of the context": "These are the attention weights. One step is missing: use them to mix the "
    "values.",
    "weights transposed": "At [i, j] the value of word j is multiplied by weights[j, i]. The row of word i says what "
    "word i takes.",
    "widths of the layer exchanged": "The layer takes d_out numbers and makes d_in. It should take d_in: "
    "nn.Linear(d_in, d_out).",
    # a head that looks at the next word
    "all look at one word": "All words look at the same word. The word to look at depends on the one that asks.",
    "last word forgotten": "The last word has no clear favourite. It looks at the first word: the sentence is closed "
    "to a ring.",
    "looks at itself": "Each word looks at itself: query and key of a word are equal. The key of the next word must "
    "fit the query.",
    "looks at the mirrored word": "The first word looks at the last, the second at the last but one. `flip` mirrors "
    "the sentence; `roll` moves it on.",
    "looks at the word before": "Each word looks at the word before it. Roll the other way, or exchange the two "
    "matrices; and in this page's convention the key of word j is column j of W_key.",
    "no word leads": "Every word shares its weight between two words, or more, alike, so it looks at none of them.",
    "one word too far": "Each word looks at the word after the next. One step is enough.",
    "rolled as one long row": "Without `dims`, `roll` takes the matrix for one long row, and what leaves a row comes "
    "into the next. Say dims=1.",
    "the last word looks elsewhere": "All words look at the next one, but the last looks at itself. It should look at "
    "the first.",
    "lead too small": "The next word leads, but gets less than .9 of the weight: too much is left for the others. "
    "Make the queries or the keys larger, and remember that the scale divides the scores.",
    "widths differ": "Queries and keys have different widths. A dot product needs equal ones.",
    # lab 7
    "batch and heads joined": "Texts and heads share one axis. Keep two: (batch, num_heads, tokens, head_dim).",
    "batch and heads swapped": "The heads stand on the first axis. The batch comes first, then the heads.",
    "batch and tokens swapped": "Texts and tokens changed places. The batch stays in front; heads and tokens are "
    "swapped.",
    "features dealt out in turn": "The features are dealt out in turn: neighbours go to different heads. Head 0 gets "
    "the first head_dim features.",
    "first head only": "Only head 0 comes back. All heads have their place.",
    "heads added up": "The heads are added up, which mixes what they found. Each keeps its own features.",
    "heads and features swapped": "The heads and the features of a head stand in each other's place, or the features "
    "before the tokens: the shape is (batch, num_heads, tokens, head_dim).",
    "heads and tokens not swapped": "Heads and tokens have to change places, after the cut and back before the join. "
    "One of these swaps is missing, or both: then the heads of one token look at each other, and tokens never meet.",
    "heads averaged": "The heads are averaged, which mixes what they found. Each keeps its own features.",
    "heads cut and joined by a plain reshape": "Cut and join are plain reshapes. Each undoes the shape of the other, "
    "so nothing crashes, but a head gets pieces of several tokens. Cut the last axis, swap heads and tokens, and swap "
    "them back before the join.",
    "heads cut by a plain reshape": "A plain reshape has the right shape and the wrong content: it cuts across the "
    "tokens. Cut the last axis first, then swap heads and tokens.",
    "heads joined by a plain reshape": "At the join a plain reshape has the right shape and the wrong content: it "
    "mixes the tokens. Swap heads and tokens first, then join the last two axes.",
    "heads left apart": "Heads and tokens are swapped, and the last two axes are still two. Join them.",
    "no mask is not expected": "The mask may be None, for texts without padding. Hide nothing then.",
    "no output projection": "The heads are joined and W_output is never used. It mixes what the heads bring back.",
    "not cut at all": "The features come back whole. Cut the last axis into num_heads pieces.",
    "num_heads not refused": "9 features cannot be shared by 2 heads in equal parts, nor 4 by 8, and the layer does "
    "not mind. Raise a ValueError.",
    "num_heads taken for head_dim": "The cut makes pieces of num_heads features each. It should make num_heads pieces.",
    "one head only": "There is one head, whatever num_heads says: each softmax runs over whole tokens. Cut first.",
    "refused with another error": "Where num_heads does not divide embed_dim the layer should say so with a "
    "ValueError. It raises another error.",
    "refused without a sentence": "The ValueError comes without a word. Say in a sentence that num_heads does not "
    "divide embed_dim.",
    "softmax over the heads": "The softmax runs over axis 1, the heads. Each head has a softmax of its own: dim=-1.",
    "the mask has no default": "Called without a mask the layer raises an error. Give the argument a default: "
    "mask=None.",
    "the number of heads in the scale": "You divide by the root of the number of heads. A score sums as many products "
    "as a head is wide.",
    "tokens cut in place of features": "You cut the axis of the tokens. The features are axis 2.",
    "tokens joined in place of features": "The heads stand below each other, as if they were more tokens. Put them "
    "side by side.",
    "tokens joined with their features": "Tokens and features became one axis. Join the last two axes only.",
    "turned before the cut": "The features were turned into columns before the cut, and the reshape then cut across "
    "them.",
    "view of a turned tensor": "After the swap the numbers lie scattered in memory, and `view` refuses them. "
    "`flatten` or `reshape` copies.",
    "weights returned too": "You return the weights as well. This exercise asks for the output alone.",
    "zero times infinity": "False times minus infinity is 0 · ∞, which is NaN. Set the scores of padding with "
    "`masked_fill`, or add a hugely negative number.",
    "wrong axes swapped": "Other axes change places before the join. Heads and tokens should, axes 1 and 2.",
    # lab 10
    "NaN where a weight is zero": "A weight of exactly 0 gives 0 times minus infinity, which is NaN. A masked map is "
    "full of such weights.",
    "all heads but this one": "You keep this head and take out all others.",
    "another base": "The entropy is in bits, with the logarithm to base 2, and the exponential to base e: the two do "
    "not undo each other. Use the natural logarithm.",
    "averaged over the layers, not the heads": "You average the layers, and then go through the heads. Axis 0 counts "
    "layers, axis 1 heads.",
    "element by element": "You multiply the maps number by number. Mixtures of mixtures are a matrix product, `@`.",
    "entropy over the wrong axis": "You take the entropy of the columns. The shares of one asking piece stand in a "
    "row: the last axis.",
    "every so-many-th column": "You empty columns that lie apart. A head owns neighbouring features: lab 7 cuts them "
    "into slices.",
    "exponential of the mean": "You average the entropies first and take the exponential then. Each row has a breadth "
    "of its own: the exponential of each row comes first, then the mean.",
    "first column of the head only": "You empty the first column of the head. It owns head_dim of them.",
    "halved without the residual connection": "You halve the map and leave out the other half: what went past the "
    "attention, the identity.",
    "heads counted from 1": "You take out the head before the one asked for. Heads are counted from 0.",
    "heads summed": "You sum the maps of the heads. Their mean is again a map whose rows sum to 1.",
    "layers added up": "You add the layers. Each stands on the one below, so they are multiplied.",
    "layers averaged": "You average the layers. Each stands on the one below, so they are multiplied.",
    "layers in the wrong order": "You multiply the first layer last. What a layer mixes is what the layer below gave, "
    "so each later map stands on the left.",
    "mean over the wrong axis": "You average over an axis in front. The rows of each map are averaged: the last axis "
    "that is left.",
    "more than one head": "You empty more than one head. It owns head_dim columns, from head * head_dim on.",
    "no entropy": "There is no entropy in your result. It is the sum of -a log a over the shares a of a row.",
    "no exponential": "This is the mean entropy. Its exponential is what counts pieces: an even row over four has "
    "breadth 4.",
    "not averaged over the rows": "There is one number for each row. Take the mean over the rows of each map.",
    "not set to zero": "The columns of the head hold another number than 0, so the head still contributes.",
    "nothing is taken out": "The matrix comes back as it was: the slice is empty, or nothing is set to zero.",
    "one column only": "You empty one column. A head owns head_dim of them.",
    "one head too far": "You take out the head after the one asked for. Heads are counted from 0.",
    "one number for all maps": "You average over everything. Heads are to be compared, so each map needs a number of "
    "its own.",
    "one over the sum of squares": "This counts pieces too, but in another way, by squares of weights. The exercise "
    "asks for the entropy's.",
    "only the block on the diagonal": "You empty a square block. The head's features go into every output, so all "
    "rows of its columns.",
    "only the head comes back": "These are the columns of the head. Return the whole matrix, with those columns at "
    "zero.",
    "rows and columns": "You empty the head's columns, and rows as well. Rows make outputs, and other heads "
    "contribute to them.",
    "rows instead of columns": "You empty rows. nn.Linear keeps (outputs, inputs): a row makes one output feature of "
    "all heads, and the head's own features are inputs, so columns.",
    "slices of num_heads columns": "Your slice is num_heads wide. A head's width is embed_dim / num_heads.",
    "summed over the rows": "You sum over the rows, so long texts look broad. Take their mean.",
    "the columns cut away": "You cut the columns out, and the matrix no longer fits what the heads bring. Make them "
    "zero.",
    "the entropy is not summed": "There is one number for each weight. The entropy of a row is their sum.",
    "the first head only": "You follow the first head alone. Take the mean of the heads of each layer.",
    "the first layer left out": "One layer is missing at the bottom. Start from the identity matrix and go through "
    "all layers.",
    "the identity added, not averaged": "You add the identity matrix and do not halve the sum, so rows sum to 2 and "
    "more with every layer.",
    "the identity alone": "You take the identity alone. Half of what leaves a layer is what its attention mixes.",
    "the identity subtracted": "You subtract the identity. What goes past the attention is added to what it mixes.",
    "the largest head": "You take the largest weight of any head. The exercise asks for the mean over the heads.",
    "the last layer only": "This is the last layer alone. Follow the mixing through all of them.",
    "the layers not mixed": "This is the identity, with which you start. Multiply by each layer in turn.",
    "the maps turned": "Your maps are transposed: rows ask, columns answer, and rows sum to 1.",
    "the minus is missing": "Without the minus the breadth falls below 1, and no row looks at less than one piece.",
    "the result turned": "Your result is transposed: its rows are the last layer's pieces, its columns the words that "
    "went in.",
    "the slice does not start at the head": "The slice starts at column `head`. The columns of a head start at head * "
    "head_dim.",
    "what was mixed added, not the identity": "You add what was mixed so far. What goes past a layer is the identity.",
    # lab 8
    "True where hidden": "True and False are swapped. In this course True is where a token may look.",
    "another word taken for padding": "The word that you leave out is not the padding. Padding is 0: ignore_index=0.",
    "attention left out": "The attention is never used, so no token reads another.",
    "axes mixed by a reshape": "`F.cross_entropy` wants the words' axis second, and a reshape does not bring it "
    "there. Flatten batch and places, or use transpose(1, 2).",
    "axis not kept": "Mean or variance lost its last axis, so it lines up with the features and not with the tokens. "
    "Where the sizes agree that raises no error: keepdim=True.",
    "bits in place of nats": "The logarithm has base 2. Nats take the natural one.",
    "both cut at the same end": "Scores and words lose the same end, so nothing is shifted. The scores lose their "
    "last place, the words their first.",
    "divided by the scale": "You divide by the scale. The normalised features are multiplied by it.",
    "either in place of both": "One of the two conditions is enough to be seen. Both must hold: `&`, not `|`.",
    "eps forgotten": "eps takes no part. Where all features of a token are equal the variance is 0, and 0 / 0 is not "
    "a number.",
    "eps outside the root": "eps is added to the standard deviation. Add it to the variance, under the root.",
    "eps taken off": "You take eps off the variance, which may then fall below 0. Add it.",
    "feed-forward layer first": "The feed-forward layer stands before the attention. Attention comes first.",
    "feed-forward layer left out": "The feed-forward layer is never used.",
    "feed-forward layer reads the attended features": "The feed-forward layer gets what comes out of the attention. "
    "It gets the normalised sum.",
    "feed-forward layer reads the first features": "The feed-forward layer gets the features from the very beginning. "
    "It gets what the first half gives.",
    "feed-forward layer reads the sum before its norm": "The feed-forward layer gets the first sum as it was before "
    "its norm. It gets the normalised one.",
    "first features added again": "The second sum adds the features from the very beginning. What goes into the "
    "feed-forward layer is added to what comes out of it.",
    "first text only": "Only the first text of the batch is judged. The mean runs over all of them.",
    "hidden_dim is not used": "The width between the two maps of the feed-forward layer is not hidden_dim. Use the "
    "argument: whoever makes the block chooses it.",
    "itself forbidden": "No token may look at itself. The diagonal belongs to the triangle.",
    "last word only": "Only the last place that has a next word is judged. All of them are: one pass trains on all "
    "places at once.",
    "looks ahead": "Each token sees what comes after it, and not what came before. Rows ask: row i needs the columns "
    "up to i, the lower triangle.",
    "mean not subtracted": "The features keep their mean. Subtract it first: the variance is about it, and what is "
    "divided is the distance from it.",
    "mean of the texts' means": "Each text is averaged first, so a word of a short text counts more. Average over all "
    "words of the batch.",
    "no norm after the attention": "The first sum is not normalised.",
    "no norm after the feed-forward layer": "The second sum is not normalised.",
    "no norm at all": "Neither sum is normalised.",
    "no residual around the attention": "What comes out of the attention replaces the features. Add it to them.",
    "no residual around the feed-forward layer": "What comes out of the feed-forward layer replaces the features. Add "
    "it to them.",
    "no residual connection": "Each part replaces the features. Add what comes out to what went in, twice.",
    "norm before each part": "This is the block of the lab: it normalises what goes into each part. Here the sum is "
    "normalised.",
    "norm inside the sum": "The norm is applied to what comes out of each part, before the sum. Here the sum is "
    "normalised.",
    "norms swapped": "The two norms stand in each other's place. attention_norm follows the attention.",
    "not averaged": "There is one number for each place. The exercise asks for their mean over all words that are not "
    "padding.",
    "not divided by the spread": "The features lose their mean and keep their spread. Divide by the standard "
    "deviation.",
    "not shifted": "Each place is judged by the word that stands there, which the model has seen. It must guess the "
    "next one.",
    "num_heads is not used": "The attention has another number of heads than num_heads says. Use the argument.",
    "one norm used twice": "One norm serves both sums. Each sum has its own, which learns its own scale and shift.",
    "only one of the two cut": "Scores and words no longer match: only one of the two is cut. The scores lose their "
    "last place, the words their first.",
    "only one of the two flattened": "Scores and words no longer match: only one of the two is flattened. Flatten "
    "both, batch and places.",
    "order forgotten": "Padding is hidden, and every token sees what comes after it.",
    "over everything": "One mean, or one variance, serves all features of all tokens. Each token has its own.",
    "over the batch": "Mean or variance runs over axis 0, so the texts of a batch change each other. They belong to "
    "one token.",
    "over the tokens": "Mean or variance runs over the tokens, each feature for itself. They belong to one token: the "
    "last axis.",
    "over the whole text": "One mean, or one variance, serves a whole text. Each token has its own.",
    "padding on both sides": "Padded tokens may not ask either, so whole rows are False. Only the columns of padding "
    "have to go.",
    "pair not taken apart": "The attention gives two things, the attended features and the weights. Only the first is "
    "added.",
    "perplexity in place of surprise": "This is the exponential of the surprise, called perplexity. The exercise asks "
    "for nats.",
    "root forgotten": "The features are divided by the variance. Divide by its square root, the standard deviation.",
    "sample variance": "The variance divides by dim - 1, as PyTorch's `var` and `std` do by themselves. Here it is "
    "the plain mean of the squared distances: unbiased=False.",
    "scale and shift exchanged": "Scale and shift stand in each other's place. The features are multiplied by the "
    "scale, and the shift is added.",
    "scale and shift forgotten": "The features are normalised, and neither scaled nor shifted.",
    "scale forgotten": "The features are normalised and shifted, but not scaled.",
    "shift forgotten": "The features are normalised and scaled, but not shifted.",
    "shifted after flattening": "You flatten first and shift then, so the last place of a text is judged by the first "
    "word of the next text. Shift within each text, then flatten.",
    "shifted before the scale": "The shift is added before the scale, and so gets scaled itself. First times scale, "
    "then plus shift.",
    "shifted in a ring": "`roll` brings the first word of a text to its end, and the last scores are judged by it. "
    "Cut instead.",
    "shifted the wrong way": "Each place is judged by the word *before* it. The scores lose their last place, the "
    "words their first.",
    "squares forgotten": "The mean of the distances themselves is 0. The variance is the mean of their squares.",
    "squares not averaged": "Each feature is divided by its own distance from the mean. The variance is the mean of "
    "the squares, one number for each token.",
    "sum added before its norm": "The second sum adds the first sum as it was before its norm. What goes into the "
    "feed-forward layer is added to what comes out of it.",
    "texts cut in place of places": "You cut the axis of the texts. The places are axis 1.",
    "the mean added": "You add the mean to the features. Subtract it.",
    "the next word seen": "Each token sees one word too far: the next one, which it should guess. The triangle ends "
    "on the diagonal.",
    "the shift taken off": "You take the shift off. Add it.",
    "weights in place of the features": "The attention gives two things, and you take the second, its weights. The "
    "first are the attended features.",
    "words and scores exchanged": "`F.cross_entropy` takes the scores first, then the words that came.",
    "words' axis last": "`F.cross_entropy` wants the words' axis second; here the places stand there. When there are "
    "as many places as known words it raises no error. Flatten batch and places.",
    # lab 9
    "Student's t": "This is the p-value of Student's t. The exercise counts sign patterns and supposes nothing about "
    "the spread.",
    "added in place of subtracted": "You add the two models. The question is how much one is better than the other.",
    "divided by n in place of its root": "The spread is divided by n. The mean of n differences varies by the square "
    "root of n less.",
    "divided by the root of n - 1": "The one that is taken off n belongs into the spread, ddof=1, and into the "
    "degrees of freedom. The mean of n differences varies by the square root of n less.",
    "ends in place of mean and half": "These are the two ends of the interval. Return its middle and half its width.",
    "equal means lost to rounding": "Some means that equal the measured one differ from it in the last digit, and "
    "fall out. Allow for 1e-12: `>= abs(measured) - 1e-12`.",
    "half the width forgotten": "Only one number comes back: the mean difference. Half the width belongs behind it.",
    "half the width is negative": "Half the width is negative. A width is not.",
    "mean forgotten": "Only one number comes back: half the width. The mean difference belongs in front of it.",
    "mean over the patterns": "You average over the patterns, one number for each seed. Each pattern has a mean of "
    "its own, over the seeds: axis 1.",
    "measured pattern left out of all": "The measured pattern was taken out before counting. It is one of the "
    "patterns.",
    "measured pattern not counted": "Means *farther* from 0 are counted. The measured pattern is one of all, and it "
    "is as far as itself: `>=`.",
    "multiplied by the root of n": "You multiply by the square root of n. A mean of n varies less than one "
    "difference: divide.",
    "normal in place of t": "The quantile is that of the normal distribution, about 1.96. The spread is measured from "
    "a few seeds, and Student's t pays for that.",
    "one answer for each pattern": "This says for each pattern whether it is as far from 0. Return one number, the "
    "share that is.",
    "one model only": "Only one of the two models is in this number. Take the differences first, seed by seed, and "
    "their spread.",
    "one side doubled": "One side is counted and doubled. Where the measured mean is 0 the sides share patterns, and "
    "the share passes 1, or has to be cut. Compare sizes.",
    "pairing lost": "The width comes from the spread of each model by itself, so the luck that both share is still in "
    "it. Take the differences seed by seed first.",
    "root of n forgotten": "This is the spread of single differences. A mean of n varies less: divide by the square "
    "root of n.",
    "second minus first": "The sign is turned around: the exercise asks for first - second.",
    "sign lost": "The sign is lost, so a loss counts as a gain. Keep it; the interval says which way.",
    "sign of the measured mean kept": "Sizes are compared with the measured mean as it is. It may be negative, and "
    "then every pattern counts.",
    "signs counted, not means": "This is the sign test: it only counts how many differences are positive. Here their "
    "sizes count as well.",
    "signs without the differences": "You average the signs. Multiply the differences by them first.",
    "spread divided by n": "The standard deviation divides by n, as NumPy's does by itself. From few seeds that is "
    "too small: ddof=1.",
    "sums compared with a mean": "You compare sums with the measured mean. Compare like with like.",
    "the allowance too large": "What you allow for rounding is so large that means count that are truly nearer to 0. "
    "Rounding is in the last digit: 1e-12 is enough.",
    "the measured mean is not used": "The means are compared with a fixed number. Compare them with the mean that you "
    "measured.",
    "the other share": "This is the share of patterns whose mean is *nearer* to 0. The exercise asks for those at "
    "least as far.",
    "the patterns are not used": "Your patterns turn no sign. Multiply the differences by each of them.",
    "the quantile forgotten": "This is the standard error. Half the width is the quantile times as much.",
    "the quantile of five seeds": "2.78 is the quantile for five seeds. It depends on how many there are.",
    "the spread forgotten": "The spread of the differences is not in the width. Half the width is the quantile times "
    "their standard deviation, over the root of n.",
    "variance in place of the spread": "You take the variance. The spread is its square root, the standard deviation.",
    "whole width": "The second number is the whole width of the interval. Return half of it, what stands behind ±.",
    "wrong degrees of freedom": "The degrees of freedom of the quantile are not n - 1. The mean has used one up, and "
    "differences count once each.",
    "zeros in place of minus signs": "Your patterns leave differences out. They should turn their signs: 1 and -1.",
    # lab 10
}


@dataclass(frozen=True)
class Mistake:
    """A mistake as an edit of the solution: each pair is a text in it and what stands in its place.

    `see` names the section that explains it, `say` puts it into words for one exercise.
    """

    name: str
    pairs: tuple[tuple[str | None, str], ...]
    see: str | None = None
    say: str | None = None

    @property
    def sentence(self) -> str:
        return self.say or SENTENCES[self.name]

    def edited(self, source: str) -> str | None:
        """The solution with this mistake; None when a text that should be replaced is not in it."""
        for old, new in self.pairs:
            if old is None:
                return _with_body(source, new)
            if old not in source:
                return None
            source = source.replace(old, new)
        return source


def refused(name: str, see: str) -> Wrong:
    """A mistake of the list, found by other means than an edit."""
    return Wrong(name, f"{SENTENCES[name]} Read again: {see}.")


def _with_body(source: str, body: str) -> str:
    """A function, or the last method of a class, with another body below its first line and its docstring."""
    head = list(re.finditer(r'( *)def .*\n(?: *""".*"""\n)?', source))[-1]
    return source[: head.end()] + "".join(f"{head[1]}    {line}\n" for line in body.strip("\n").split("\n"))


def edit(name: str, *texts: str | None, see: str | None = None, say: str | None = None) -> Mistake:
    """A mistake made by these replacements: old, new, old, new ...; None stands for the whole body (of `forward`)."""
    return Mistake(name, tuple(zip(texts[::2], texts[1::2], strict=True)), see, say)


def scales(width: str, see: str, **others: str) -> list[Mistake]:
    """What goes wrong with a scale `/ math.sqrt(width)`; `others` are the widths that are taken for it, as code."""
    names = {
        "features": "d instead of k in the scale",
        "values": "d_v instead of k in the scale",
        "tokens": "the number of tokens in the scale",
        "texts": "the number of texts in the scale",
    }
    return [
        edit("no scale", f" / math.sqrt({width})", "", see=see),
        edit("no root in the scale", f"math.sqrt({width})", width, see=see),
        edit("multiplied by the scale", "/ math.sqrt", "* math.sqrt", see=see),
        edit(
            "the scale divided by the scores", f"scores / math.sqrt({width})", f"math.sqrt({width}) / scores", see=see
        ),
        *(edit(names[kind], f"sqrt({width})", f"sqrt({other})", see=see) for kind, other in others.items()),
    ]


# --- self-attention as labs 3 and 4 write it ---------------------------------------------------------------------

SCORES = "queries @ keys.transpose(1, 2)"
SCALE = " / math.sqrt(keys.shape[2])"
WEIGH = "masked_softmax(scores, mask.unsqueeze(1))"
HIDDEN = "scores.masked_fill(~mask.unsqueeze(1), {})"
LOWEST = "torch.finfo(scores.dtype).min"

_LOOKS = "Lab 3, “The layer”"
_EACH = "Lab 3, “A question for each token”"
_WHOM = "Lab 3, “Who asks whom”"
_ROOT = "Lab 3, “Why divide by the square root of k?”"
_HIDE = "Lab 1, “Two models”"
_MASK = "Lab 1, “Batches, padding and the mask”"


def _weighed(name: str, see: str, *ways: str) -> list[Mistake]:
    """One mistake in how the scores become weights, made in several ways."""
    return [edit(name, WEIGH, way, see=see) for way in ways]


def attention(brought: str) -> list[Mistake]:
    """The mistakes of a layer of self-attention that brings back `features` or `values`."""
    output = f"weights @ {brought}"
    return [
        edit("the mask only counted", WEIGH, f"masked_softmax(scores, ({COUNTED}).unsqueeze(1))", see=_MASK),
        *_weighed(
            "softmax over the wrong axis",
            _LOOKS,
            HIDDEN.format(LOWEST) + ".softmax(dim=1)",
            HIDDEN.format("-torch.inf") + ".softmax(dim=1)",
            f"scores.masked_fill(~mask.unsqueeze(2), {LOWEST}).softmax(dim=1)",
            "scores.masked_fill(~mask.unsqueeze(2), -torch.inf).softmax(dim=1)",
            "scores.softmax(dim=1)",
            "masked_softmax(scores.mT, mask.unsqueeze(1)).mT",
        ),
        *_weighed(
            "softmax over the batch",
            _LOOKS,
            HIDDEN.format(LOWEST) + ".softmax(dim=0)",
            HIDDEN.format("-torch.inf") + ".softmax(dim=0)",
            "scores.softmax(dim=0)",
        ),
        edit("no scale", SCALE, "", see=_ROOT),
        edit("d instead of k in the scale", "math.sqrt(keys.shape[2])", "math.sqrt(features.shape[2])", see=_ROOT),
        edit("the number of tokens in the scale", "math.sqrt(keys.shape[2])", "math.sqrt(keys.shape[1])", see=_ROOT),
        edit("the number of texts in the scale", "math.sqrt(keys.shape[2])", "math.sqrt(keys.shape[0])", see=_ROOT),
        edit("no root in the scale", "math.sqrt(keys.shape[2])", "keys.shape[2]", see=_ROOT),
        edit("multiplied by the scale", "/ math.sqrt", "* math.sqrt", see=_ROOT),
        edit("queries and keys exchanged", SCORES, "keys @ queries.transpose(1, 2)", see=_EACH),
        edit("one matrix for both", "self.W_query(features)", "self.W_key(features)", see=_WHOM),
        edit("one matrix for both", "self.W_key(features)", "self.W_query(features)", see=_WHOM),
        edit("one matrix for both", SCORES, "keys @ keys.transpose(1, 2)", see=_WHOM),
        edit("one matrix for both", SCORES, "queries @ queries.transpose(1, 2)", see=_WHOM),
        edit(
            "one question for all", SCORES, "queries.mean(dim=1, keepdim=True).expand_as(queries) @ keys.mT", see=_EACH
        ),
        edit("no transpose at all", "keys.transpose(1, 2)", "keys", see=_LOOKS),
        edit("transpose of the wrong axes", "keys.transpose(1, 2)", "keys.permute(2, 1, 0)", see=_LOOKS),
        edit("transpose of the wrong axes", "keys.transpose(1, 2)", "keys.transpose(0, 1)", see=_LOOKS),
        edit(
            "a reshape for a transpose",
            *("keys.transpose(1, 2)", "keys.reshape(keys.shape[0], keys.shape[2], keys.shape[1])"),
            see=_LOOKS,
        ),
        *_weighed("no mask", _LOOKS, "masked_softmax(scores, None)"),
        *_weighed(
            "the mask on those who ask",
            _LOOKS,
            "masked_softmax(scores, mask.unsqueeze(2))",
            f"scores.masked_fill(~mask.unsqueeze(2), {LOWEST}).softmax(dim=2)",
            "scores.masked_fill(~mask.unsqueeze(2), -torch.inf).softmax(dim=2)",
            "scores.softmax(dim=2) * mask.unsqueeze(2)",
        ),
        *_weighed(
            "the axis of the mask is lost",
            _LOOKS,
            "masked_softmax(scores, mask)",
            f"scores.masked_fill(~mask, {LOWEST}).softmax(dim=2)",
        ),
        *_weighed(
            "mask after the softmax",
            _HIDE,
            "scores.softmax(dim=2) * mask.unsqueeze(1)",
            "scores.softmax(dim=2) * mask.unsqueeze(1) * mask.unsqueeze(2)",
        ),
        *_weighed(
            "the mask the wrong way round",
            _MASK,
            "masked_softmax(scores, ~mask.unsqueeze(1))",
            f"scores.masked_fill(mask.unsqueeze(1), {LOWEST}).softmax(dim=2)",
            "scores.masked_fill(mask.unsqueeze(1), -torch.inf).softmax(dim=2)",
            "(scores - 1e9 * mask.unsqueeze(1)).softmax(dim=2)",
        ),
        *_weighed(
            "padding hidden with too small a number",
            _HIDE,
            HIDDEN.format("-100.0") + ".softmax(dim=2)",
            HIDDEN.format("-20.0") + ".softmax(dim=2)",
            HIDDEN.format("-100.0") + ".softmax(dim=2) * mask.unsqueeze(1)",
        ),
        *_weighed(
            "padding scored zero",
            _HIDE,
            "(scores * mask.unsqueeze(1)).softmax(dim=2)",
            "(scores * mask.unsqueeze(1)).softmax(dim=2) * mask.unsqueeze(1)",
        ),
        *_weighed("the mask added as it is", _HIDE, "(scores + mask.unsqueeze(1)).softmax(dim=2)"),
        *_weighed("no softmax", _HIDE, "scores * mask.unsqueeze(1)", "scores", HIDDEN.format("0")),
        *_weighed("sigmoid instead of softmax", _HIDE, "scores.sigmoid() * mask.unsqueeze(1)", "scores.sigmoid()"),
        *_weighed(
            "NaN in rows of padding",
            _HIDE,
            "scores.masked_fill(~(mask.unsqueeze(1) & mask.unsqueeze(2)), -torch.inf).softmax(dim=2)",
        ),
        edit("weighted with the transposed weights", output, f"weights.mT @ {brought}", see=_LOOKS),
        edit("keys brought back", output, "weights @ keys", see=_LOOKS),
        edit("queries brought back", output, "weights @ queries", see=_LOOKS),
        edit("averaged over the tokens", output, f"({output}).mean(dim=1)", see=_LOOKS),
        edit("averaged over the tokens", output, f"({output}).sum(dim=1)", see=_LOOKS),
        edit("scores returned instead of weights", ", weights\n", ", scores\n", see=_LOOKS),
        edit("results in the wrong order", f"{output}, weights", f"weights, {output}", see=_LOOKS),
        edit("weights not used", output, brought, see=_LOOKS),
    ]
