/*-------------------------------------------------------------------------
 *
 * jointree.c
 *	  The best tree of binary joins for a join of several inputs.
 *
 * A delta join arranges an input once for each way in which others look it up,
 * and keeps no results in between; binary joins arrange both sides of each
 * join once, among them what the joins below gave.  So where a join below
 * leaves few rows, or a large input is looked up in many ways, the tree takes
 * less:
 *
 *		delta:	a by x, b by x, b by y, c by y
 *		tree:	a by x, b by x, (a, b) by y, c by y
 *
 * What is compared is the bytes of arrangements that would have to be made:
 * those that are there already cost nothing.  Trees of few inputs are all
 * tried, by dynamic programming over their sets; of many, those two sides are
 * joined next that cost the least.  Inputs without anything in common are
 * joined only where nothing else is left to do: if there are more of their rows
 * than was thought, there are very many more of their pairs.
 *
 * The tree is made as relations of two inputs, so that it is built as if the
 * query had been written so.  Each equality of the join is one of the node
 * where its sides come together; a condition that can raise no error is tested
 * as soon as what it mentions is there, others at the root.  Where two sides
 * have members of one class but no equality between them, one is made.
 *
 * Memory: the search is in a context of its own; the relations are in
 * CurrentMemoryContext.
 *
 * src/plan/jointree.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "port/pg_bitutils.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "plan/join.h"

/* With so many inputs all trees are tried: 3^n / 2 pairs of sides. */
#define SEARCH_MAX 9

#define BIT(i) (UINT64CONST(1) << (i))

/* One member of each side, for each class that they have in common. */
typedef struct Links
{
	int			n;
	int			left[INDEX_MAX_KEYS];
	int			right[INDEX_MAX_KEYS];
} Links;

typedef struct Tree
{
	uint64		inputs;
	struct Tree *left;			/* NULL: a single input */
	struct Tree *right;
	double		bytes;			/* of all arrangements in it */
	double		rows;			/* of its result; 0: not asked for yet */
	double		width;			/* of what is kept of a row */
	bool		fixed;
} Tree;

/* The price of arranging an input by some of its members. */
typedef struct Price
{
	int			input;
	Bitmapset  *members;
	double		bytes;
} Price;

typedef struct Search
{
	DdirJoinBuild *jb;
	List	   *prices;			/* of Price * */
	int		   *key_width;		/* of each member's key, -1: not fixed */
	double	   *width;			/* and of its values */
} Search;

/*
 * What two sides have in common
 */

static bool
is_member_of(const DdirJoinBuild *jb, int m, uint64 set)
{
	return (BIT(jb->member[m].rel) & set) != 0;
}

static bool
has_class(const DdirJoinBuild *jb, const Links *links, int cls)
{
	for (int i = 0; i < links->n; i++)
		if (jb->member[links->left[i]].cls == cls)
			return true;
	return false;
}

static void
add_link(DdirJoinBuild *jb, Links *links, int left, int right)
{
	if (links->n == INDEX_MAX_KEYS || has_class(jb, links, jb->member[left].cls) ||
		!ddir_join_comparable(jb, left, right))
		return;
	links->left[links->n] = left;
	links->right[links->n++] = right;
}

/* Is the member a side of an equality whose other side is outside of the set? */
static bool
leaves(DdirJoinBuild *jb, int member, uint64 set)
{
	for (int i = 0; i < list_length(jb->rel->equalities); i++)
	{
		int			l = jb->eq_left[i];
		int			r = jb->eq_right[i];

		if ((l == member && !is_member_of(jb, r, set)) ||
			(r == member && !is_member_of(jb, l, set)))
			return true;
	}
	return false;
}

/*
 * Equalities between the sides first.  Else any two members of a class will do
 * whose columns are still there, if one operator compares them.
 */
static void
find_links(DdirJoinBuild *jb, uint64 left, uint64 right, Links *links)
{
	links->n = 0;
	for (int i = 0; i < list_length(jb->rel->equalities); i++)
	{
		int			l = jb->eq_left[i];
		int			r = jb->eq_right[i];

		if (is_member_of(jb, l, left) && is_member_of(jb, r, right))
			add_link(jb, links, l, r);
		else if (is_member_of(jb, r, left) && is_member_of(jb, l, right))
			add_link(jb, links, r, l);
	}
	for (int l = 0; l < jb->nmembers; l++)
		for (int r = 0; r < jb->nmembers; r++)
		{
			const DdirJoinMember *a = &jb->member[l];
			const DdirJoinMember *b = &jb->member[r];

			if (a->cls == b->cls && a->eqop == b->eqop && a->collation == b->collation &&
				exprType((Node *) a->expr) == exprType((Node *) b->expr) &&
				is_member_of(jb, l, left) && is_member_of(jb, r, right) &&
				!has_class(jb, links, a->cls) &&
				leaves(jb, l, left) && leaves(jb, r, right))
				add_link(jb, links, l, r);
		}
}

/*
 * What a tree keeps of its inputs
 */

/* Is it tested in a tree of this set? */
static bool
tested_within(Node *qual, uint64 set)
{
	Bitmapset  *inputs = ddir_expr_inputs(qual);
	int			i = -1;

	if (bms_is_empty(inputs) || !ddir_expr_is_total(qual))
		return false;
	while ((i = bms_next_member(inputs, i)) >= 0)
		if ((set & BIT(i)) == 0)
			return false;
	return true;
}

/* Columns of input i that are still needed above the tree. */
static Bitmapset *
columns_above(DdirJoinBuild *jb, uint64 set, int i)
{
	Bitmapset  *columns = ddir_expr_columns((Node *) jb->rel->targets, i);
	ListCell   *lc;

	foreach(lc, jb->rel->quals)
	{
		if (!tested_within(lfirst(lc), set))
			columns = bms_join(columns, ddir_expr_columns(lfirst(lc), i));
	}
	foreach(lc, jb->rel->equalities)
	{
		DdirEquality *eq = lfirst(lc);

		if ((set & BIT(eq->left)) != 0 && (set & BIT(eq->right)) != 0)
			continue;
		columns = bms_join(columns, ddir_expr_columns((Node *) eq->left_expr, i));
		columns = bms_join(columns, ddir_expr_columns((Node *) eq->right_expr, i));
	}
	return columns;
}

/*
 * Prices
 */

/* Rows and widths of what a tree gives. */
static void
measure(DdirJoinBuild *jb, Tree *tree)
{
	tree->rows = ddir_estimate_join_rows(jb->estimate, tree->inputs);
	tree->fixed = true;
	for (int i = 0; i < jb->n; i++)
	{
		Bitmapset  *columns;
		int			a = -1;

		if ((tree->inputs & BIT(i)) == 0)
			continue;
		columns = columns_above(jb, tree->inputs, i);
		while ((a = bms_next_member(columns, a)) >= 0)
		{
			tree->width += ddir_estimate_width(jb->rel->input[i], a);
			tree->fixed = tree->fixed && jb->rel->input[i]->type->col[a - 1].typlen > 0;
		}
	}
}

static void
measure_members(Search *s)
{
	DdirJoinBuild *jb = s->jb;

	s->key_width = palloc(sizeof(int) * (jb->nmembers + 1));
	s->width = palloc(sizeof(double) * (jb->nmembers + 1));
	for (int m = 0; m < jb->nmembers; m++)
	{
		Node	   *expr = (Node *) jb->member[m].expr;

		s->key_width[m] = ddir_join_key(jb, &m, 1, DDIR_KEY_JOIN)->col[0].width;
		if (IsA(expr, Var))
			s->width[m] = ddir_estimate_width(jb->rel->input[jb->member[m].rel],
											  ((Var *) expr)->varattno);
		else
			s->width[m] = get_typavgwidth(exprType(expr), exprTypmod(expr));
	}
}

static double
result_bytes(Search *s, Tree *tree, const int *members, int n)
{
	double		keys = 0;

	if (tree->rows == 0)
		measure(s->jb, tree);
	for (int i = 0; i < n; i++)
		keys += s->width[members[i]];
	return ddir_share_bytes(tree->rows, tree->width, tree->fixed, n,
							n > 0 ? s->key_width[members[0]] : -1, keys);
}

static double
input_bytes(Search *s, int input, const int *members, int n)
{
	Price	   *price;
	Bitmapset  *set = NULL;
	ListCell   *lc;

	for (int i = 0; i < n; i++)
		set = bms_add_member(set, members[i]);
	foreach(lc, s->prices)
	{
		price = lfirst(lc);
		if (price->input == input && bms_equal(price->members, set))
			return price->bytes;
	}
	price = palloc(sizeof(Price));
	price->input = input;
	price->members = set;
	price->bytes = ddir_join_new_bytes(s->jb, list_make1(ddir_join_want(s->jb, input,
																		members, n)));
	s->prices = lappend(s->prices, price);
	return price->bytes;
}

static double
side_bytes(Search *s, Tree *side, const int *members, int n)
{
	if (side->left == NULL)
		return input_bytes(s, pg_rightmost_one_pos64(side->inputs), members, n);
	return result_bytes(s, side, members, n);
}

/* The join of two trees; NULL if it would be of everything with everything. */
static Tree *
joined(Search *s, Tree *left, Tree *right, bool cross)
{
	Tree	   *tree;
	Links		links;

	find_links(s->jb, left->inputs, right->inputs, &links);
	if (links.n == 0 && !cross)
		return NULL;
	tree = palloc0(sizeof(Tree));
	tree->inputs = left->inputs | right->inputs;
	tree->left = left;
	tree->right = right;
	tree->bytes = left->bytes + right->bytes +
		side_bytes(s, left, links.left, links.n) +
		side_bytes(s, right, links.right, links.n);
	return tree;
}

/*
 * Searching
 */

static Tree *
leaf(int input)
{
	Tree	   *tree = palloc0(sizeof(Tree));

	tree->inputs = BIT(input);
	return tree;
}

static Tree *
best_of_all(Search *s)
{
	int			n = s->jb->n;
	Tree	  **best = palloc0(sizeof(Tree *) << n);

	for (uint64 set = 1; set < BIT(n); set++)
	{
		if ((set & (set - 1)) == 0)
		{
			best[set] = leaf(pg_rightmost_one_pos64(set));
			continue;
		}
		for (int cross = 0; cross < 2 && best[set] == NULL; cross++)
			/* of each pair of sides, the one with the first input is left */
			for (uint64 left = (set - 1) & set; left != 0; left = (left - 1) & set)
			{
				Tree	   *tree;

				if ((left & set & -set) == 0)
					continue;
				CHECK_FOR_INTERRUPTS();
				tree = joined(s, best[left], best[set & ~left], cross);
				if (tree && (best[set] == NULL || tree->bytes < best[set]->bytes))
					best[set] = tree;
			}
	}
	return best[BIT(n) - 1];
}

static Tree *
best_by_steps(Search *s)
{
	int			n = s->jb->n;
	Tree	  **part = palloc(sizeof(Tree *) * n);

	for (int i = 0; i < n; i++)
		part[i] = leaf(i);
	for (; n > 1; n--)
	{
		Tree	   *best = NULL;
		int			at = 0;
		int			with = 0;

		for (int cross = 0; cross < 2 && best == NULL; cross++)
			for (int i = 0; i < n; i++)
				for (int j = i + 1; j < n; j++)
				{
					Tree	   *tree;

					CHECK_FOR_INTERRUPTS();
					tree = joined(s, part[i], part[j], cross);
					if (tree == NULL ||
						(best && tree->bytes - part[i]->bytes - part[j]->bytes >=
						 best->bytes - part[at]->bytes - part[with]->bytes))
						continue;
					best = tree;
					at = i;
					with = j;
				}
		part[at] = best;
		part[with] = part[n - 1];
	}
	return part[0];
}

/* Leaf sides of one source may be served by one arrangement. */
static double
exact_bytes(Search *s, const Tree *tree, List **wanted)
{
	double		bytes = 0;
	Links		links;

	if (tree->left == NULL)
		return 0;
	find_links(s->jb, tree->left->inputs, tree->right->inputs, &links);
	for (int side = 0; side < 2; side++)
	{
		Tree	   *t = side == 0 ? tree->left : tree->right;
		const int  *members = side == 0 ? links.left : links.right;

		bytes += exact_bytes(s, t, wanted);
		if (t->left)
			bytes += result_bytes(s, t, members, links.n);
		else
			*wanted = lappend(*wanted,
							  ddir_join_want(s->jb, pg_rightmost_one_pos64(t->inputs),
											 members, links.n));
	}
	return bytes;
}

/*
 * Making relations of it
 */

/* A relation, and where in it the columns of the join's inputs are. */
typedef struct Made
{
	DdirRel    *rel;
	uint64		inputs;
	AttrNumber **place;			/* [input][column]; 0: it has not got it */
} Made;

typedef struct ReplaceContext
{
	const Made *side[2];
} ReplaceContext;

static Node *
replace_var(Var *var, void *arg)
{
	ReplaceContext *cx = arg;
	int			input = var->varno - 1;
	int			side = (cx->side[0]->inputs & BIT(input)) != 0 ? 0 : 1;
	const Made *made = cx->side[side];
	AttrNumber	a;

	Assert((made->inputs & BIT(input)) != 0);
	a = made->place[input][var->varattno];
	return (Node *) ddir_rel_var(side, made->rel, a);
}

static void *
replaced(void *expr, const Made *left, const Made *right)
{
	ReplaceContext cx = {{left, right}};

	return ddir_vars_map(expr, replace_var, &cx);
}

static DdirEquality *
make_equality(DdirJoinBuild *jb, int l, int r, Oid eqop, const Made *left, const Made *right)
{
	DdirEquality *eq = palloc(sizeof(DdirEquality));

	eq->left = is_member_of(jb, l, left->inputs) ? 0 : 1;
	eq->left_expr = replaced(jb->member[l].expr, left, right);
	eq->right = 1 - eq->left;
	eq->right_expr = replaced(jb->member[r].expr, left, right);
	eq->eqop = eqop;
	eq->collation = jb->member[l].collation;
	eq->null_safe = jb->member[l].null_safe;
	return eq;
}

/*
 * All equalities whose sides come together here, and those links without one.
 * Equalities of images are their keys' very bytes, so one for a class will do.
 */
static List *
equalities_here(DdirJoinBuild *jb, const Made *left, const Made *right)
{
	List	   *equalities = NIL;
	Bitmapset  *classes = NULL;
	Links		links;
	ListCell   *lc;

	foreach(lc, jb->rel->equalities)
	{
		DdirEquality *eq = lfirst(lc);
		int			l = jb->eq_left[foreach_current_index(lc)];
		int			r = jb->eq_right[foreach_current_index(lc)];

		if (!(is_member_of(jb, l, left->inputs) && is_member_of(jb, r, right->inputs)) &&
			!(is_member_of(jb, r, left->inputs) && is_member_of(jb, l, right->inputs)))
			continue;
		if (eq->eqop == DDIR_EQUALITY_IMAGE && bms_is_member(jb->member[l].cls, classes))
			continue;
		equalities = lappend(equalities, make_equality(jb, l, r, eq->eqop, left, right));
		classes = bms_add_member(classes, jb->member[l].cls);
	}
	find_links(jb, left->inputs, right->inputs, &links);
	for (int i = 0; i < links.n; i++)
		if (!bms_is_member(jb->member[links.left[i]].cls, classes))
			equalities = lappend(equalities,
								 make_equality(jb, links.left[i], links.right[i],
											   jb->member[links.left[i]].eqop, left, right));
	return equalities;
}

/* Conditions that no tree below tests. */
static List *
quals_here(DdirJoinBuild *jb, const Made *left, const Made *right, bool root)
{
	List	   *quals = NIL;
	ListCell   *lc;

	foreach(lc, jb->rel->quals)
	{
		Node	   *qual = lfirst(lc);
		bool		below = false;

		/* a single input tests nothing */
		if ((left->inputs & (left->inputs - 1)) != 0)
			below = below || tested_within(qual, left->inputs);
		if ((right->inputs & (right->inputs - 1)) != 0)
			below = below || tested_within(qual, right->inputs);
		if (!below && (root || tested_within(qual, left->inputs | right->inputs)))
			quals = lappend(quals, replaced(qual, left, right));
	}
	return quals;
}

static Made *
make_leaf(DdirJoinBuild *jb, int input)
{
	Made	   *made = palloc0(sizeof(Made));
	int			natts = jb->rel->input[input]->type->natts;

	made->rel = jb->rel->input[input];
	made->inputs = BIT(input);
	made->place = palloc0(sizeof(AttrNumber *) * jb->n);
	made->place[input] = palloc0(sizeof(AttrNumber) * (natts + 1));
	for (int a = 1; a <= natts; a++)
		made->place[input][a] = a;
	return made;
}

/* The columns needed above as targets, noting their places. */
static List *
make_targets(DdirJoinBuild *jb, Made *made, const Made *left, const Made *right)
{
	List	   *targets = NIL;

	for (int i = 0; i < jb->n; i++)
	{
		Bitmapset  *columns;
		int			a = -1;

		if ((made->inputs & BIT(i)) == 0)
			continue;
		made->place[i] = palloc0(sizeof(AttrNumber) * (jb->rel->input[i]->type->natts + 1));
		columns = columns_above(jb, made->inputs, i);
		while ((a = bms_next_member(columns, a)) >= 0)
		{
			targets = lappend(targets, replaced(ddir_rel_var(i, jb->rel->input[i], a),
												left, right));
			made->place[i][a] = list_length(targets);
		}
	}
	return targets;
}

static Made *
make_rels(DdirJoinBuild *jb, const Tree *tree)
{
	Made	   *made;
	Made	   *left;
	Made	   *right;
	DdirRel    *in[2];
	List	   *targets;
	bool		root;

	check_stack_depth();
	if (tree->left == NULL)
		return make_leaf(jb, pg_rightmost_one_pos64(tree->inputs));
	left = make_rels(jb, tree->left);
	right = make_rels(jb, tree->right);
	root = pg_popcount64(tree->inputs) == jb->n;

	made = palloc0(sizeof(Made));
	made->inputs = tree->inputs;
	made->place = palloc0(sizeof(AttrNumber *) * jb->n);
	targets = root ? replaced(jb->rel->targets, left, right) :
		make_targets(jb, made, left, right);
	in[0] = left->rel;
	in[1] = right->rel;
	made->rel = ddir_rel_join(2, in, equalities_here(jb, left, right),
							  quals_here(jb, left, right, root), targets);
	made->rel->binary = true;
	made->rel->rows = ddir_estimate_join_rows(jb->estimate, tree->inputs);
	return made;
}

DdirRel *
ddir_join_tree(DdirJoinBuild *jb, double *bytes)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "ddir join tree",
											  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	Search		s = {jb};
	List	   *wanted = NIL;
	Tree	   *tree;
	DdirRel    *rel = NULL;

	measure_members(&s);
	tree = jb->n <= SEARCH_MAX ? best_of_all(&s) : best_by_steps(&s);
	*bytes = exact_bytes(&s, tree, &wanted);
	*bytes += ddir_join_new_bytes(jb, wanted);
	MemoryContextSwitchTo(old);
	if (*bytes < jb->delta_bytes)
		rel = make_rels(jb, tree)->rel;
	MemoryContextDelete(cxt);
	return rel;
}
